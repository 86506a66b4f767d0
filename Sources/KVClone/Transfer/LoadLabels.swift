import KVCloneModel

/// The ids of one file and what they became: a dense number per id, so that links are kept in four bytes an end.
struct LoadLabels {
  /// Entities are numbered; this stands for "an object that the store had before".
  static let stored = UInt16.max

  /// By entity index: serial in the file → number.
  private var numbers: [[UInt64: UInt32]]
  private var storedNumbers: [ObjectID: UInt32] = [:]
  /// By number; ``undefined`` until its line has come.
  private(set) var ids: [ObjectID] = []
  private(set) var entities: [UInt16] = []
  private(set) var serials: [UInt64] = []
  /// The line that defined it, or, before, the one that named it first.
  private(set) var lines: [UInt32] = []

  static let undefined = ObjectID(rawValue: 0)

  init(entityCount: Int) {
    numbers = Array(repeating: [:], count: entityCount)
  }

  var count: Int { ids.count }

  func isDefined(_ number: UInt32) -> Bool { ids[Int(number)] != LoadLabels.undefined }
  func isStored(_ number: UInt32) -> Bool { entities[Int(number)] == LoadLabels.stored }

  /// The number of a file's id; a new one if no line has named it yet.
  mutating func number(entity: UInt16, serial: UInt64, line: Int) -> UInt32 {
    if let known = numbers[Int(entity)][serial] { return known }
    let number = UInt32(ids.count)
    numbers[Int(entity)][serial] = number
    append(LoadLabels.undefined, entity, serial, line)
    return number
  }

  /// The number of an object that the store has.
  mutating func number(stored id: ObjectID, line: Int) -> UInt32 {
    if let known = storedNumbers[id] { return known }
    let number = UInt32(ids.count)
    storedNumbers[id] = number
    append(id, LoadLabels.stored, id.serial, line)
    return number
  }

  mutating func define(_ number: UInt32, as id: ObjectID, line: Int) {
    ids[Int(number)] = id
    lines[Int(number)] = UInt32(clamping: line)
  }

  private mutating func append(_ id: ObjectID, _ entity: UInt16, _ serial: UInt64, _ line: Int) {
    ids.append(id)
    entities.append(entity)
    serials.append(serial)
    lines.append(UInt32(clamping: line))
  }

  /// The number whose line became the object; a linear search for the way of an error.
  func number(of serial: UInt64, entity: UInt16) -> Int? {
    ids.indices.first { entities[$0] == entity && ids[$0].serial == serial }
  }
}

/// `Entity/serial` as lines write it.
struct LoadName {
  let entity: Substring
  let serial: UInt64

  /// nil unless the serial is a plain number, written in one way only, so that names are equal where their text is.
  init?(_ text: Substring) {
    guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    entity = text[..<slash]
    let digits = text[text.index(after: slash)...].utf8
    guard !entity.isEmpty, !digits.isEmpty, digits.first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
    var serial: UInt64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (product, overflow) = serial.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
      if overflow || carry { return nil }
      serial = sum
    }
    self.serial = serial
  }
}
