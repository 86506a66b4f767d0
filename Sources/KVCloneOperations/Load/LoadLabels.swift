import KVCloneCore
import KVCloneLMDB
import KVCloneModel

/// The ids of one file and their objects: a dense number per id, so that links take four bytes an end. All of it is in
/// scratch space, because memory may not suffice for all ids.
final class LoadLabels {
  /// Entities are numbered; this means an object that the store had before.
  static let stored = UInt16.max

  /// By number; ``undefined`` until its line was read, or read ahead.
  let ids: ScratchArray<ObjectID>
  let entities: ScratchArray<UInt16>
  let serials: ScratchArray<UInt64>
  /// The line that defined it, or, before, the one that first referred to it; 0 if it was only read ahead.
  let lines: ScratchArray<UInt32>
  /// The numbers that lines of the batch have defined, if it may be loaded again.
  private let defined: ScratchArray<UInt32>?
  /// A hash table of numbers, with linear probing; 0 is free, else the number + 1.
  private var slots: ScratchArray<UInt32>
  /// Random, because the file's author could otherwise choose colliding ids.
  private let seed = UInt64.random(in: 0 ... .max)
  private let space: ScratchSpace

  static let undefined = ObjectID(rawValue: 0)

  /// - Parameter keepsDefined: whether batches may be loaded again.
  init(in space: ScratchSpace, keepsDefined: Bool = false) {
    self.space = space
    defined = keepsDefined ? ScratchArray(in: space) : nil
    ids = ScratchArray(in: space)
    entities = ScratchArray(in: space)
    serials = ScratchArray(in: space)
    lines = ScratchArray(in: space)
    slots = ScratchArray(in: space)
  }

  var count: Int { ids.count }

  func isDefined(_ number: UInt32) -> Bool { isKnown(number) && lines[Int(number)] != 0 }
  /// Whether the object exists, or a later line inserts it under a known id.
  func isKnown(_ number: UInt32) -> Bool { ids[Int(number)] != LoadLabels.undefined }
  func isStored(_ number: UInt32) -> Bool { entities[Int(number)] == LoadLabels.stored }

  /// The number of a file's id; assigns a new one on first use.
  func number(entity: UInt16, serial: UInt64, line: Int) throws(StoreError) -> UInt32 {
    try number(entity, serial, id: LoadLabels.undefined, line)
  }

  /// The number of an object that the store has.
  func number(stored id: ObjectID, line: Int) throws(StoreError) -> UInt32 {
    try number(LoadLabels.stored, id.rawValue, id: id, line)
  }

  /// Announces the id that a later line will define. The first of two equal ids counts: the second line is rejected.
  func expect(entity: UInt16, serial: UInt64, id: ObjectID) throws(StoreError) -> UInt32 {
    try number(entity, serial, id: id, 0)
  }

  /// Replaces all announced ids.
  func mapExpected(_ body: (ObjectID) throws -> ObjectID) rethrows {
    for number in ids.indices { ids[number] = try body(ids[number]) }
  }

  func define(_ number: UInt32, as id: ObjectID, line: Int) throws(StoreError) {
    try defined?.append(number)
    ids[Int(number)] = id
    lines[Int(number)] = UInt32(clamping: line)
  }

  /// Calls `body` with each number that a line of the batch has defined.
  func forEachDefined(_ body: (UInt32) -> Void) {
    guard let defined else { return }
    for index in defined.indices { body(defined[index]) }
  }

  /// Discards the new ids of the batch's lines. Their numbers and lines stay.
  func restartBatch() {
    forEachDefined { ids[Int($0)] = LoadLabels.undefined }
    endBatch()
  }

  /// Keeps what the ids of the batch's lines became.
  func endBatch() { defined?.removeAll() }

  private func number(_ entity: UInt16, _ serial: UInt64, id: ObjectID, _ line: Int) throws(StoreError)
    -> UInt32
  {
    if ids.count >= slots.count / 4 * 3 { try growTable() }
    let slots = slots
    var slot = home(entity, serial)
    while slots[slot] != 0 {
      let known = Int(slots[slot]) - 1
      if serials[known] == serial, entities[known] == entity { return UInt32(known) }
      slot = (slot + 1) & (slots.count - 1)
    }
    try ids.append(id)
    try entities.append(entity)
    try serials.append(serial)
    try lines.append(UInt32(clamping: line))
    slots[slot] = UInt32(ids.count)
    return UInt32(ids.count - 1)
  }

  private func growTable() throws(StoreError) {
    slots = try ScratchArray(repeating: 0, count: max(64, slots.count * 2), in: space)
    for number in ids.indices {
      var slot = home(entities[number], serials[number])
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = UInt32(number + 1)
    }
  }

  /// The home slot of an id: its bits mixed by the finalizer of MurmurHash3.
  private func home(_ entity: UInt16, _ serial: UInt64) -> Int {
    var mixed = (serial ^ seed) &+ UInt64(entity) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    mixed = (mixed ^ (mixed >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return Int(truncatingIfNeeded: mixed ^ (mixed >> 33)) & (slots.count - 1)
  }
}

/// `Entity/serial` as written in lines.
struct LoadName {
  let entity: Substring
  let serial: UInt64

  /// The size of an entity's name, a slash, and a 64-bit number: longer texts are not valid names.
  static let lengthLimit = ModelLimits.nameBytes + 21

  /// Nil unless the serial is a number in canonical form, so that names are equal if their texts are.
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
