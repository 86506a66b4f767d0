import Foundation

/// A value of a binary property list, for the tests to write.
indirect enum TestValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case string(String)
  case data([UInt8])
  case reference(Int)
  case array([TestValue])
  case dictionary([(String, TestValue)])
}

/// Writes binary property lists as Apple documents them; of equal values, it shares references.
struct PropertyListWriter {
  private var objects: [[UInt8]] = []
  private var references: [Int: Int] = [:]

  static func bytes(_ value: TestValue) -> [UInt8] {
    var writer = PropertyListWriter()
    let top = writer.add(value)
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in writer.objects {
      offsets += bigEndian(UInt64(bytes.count), 4)
      bytes += object
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 2]
    for number in [writer.objects.count, top, table] { bytes += bigEndian(UInt64(number), 8) }
    return bytes
  }

  private mutating func add(_ value: TestValue) -> Int {
    if case .reference(let number) = value, let known = references[number] { return known }
    let object: [UInt8]
    switch value {
    case .null: object = [0x00]
    case .boolean(let flag): object = [flag ? 0x09 : 0x08]
    case .integer(let number): object = [0x13] + Self.bigEndian(UInt64(bitPattern: number), 8)
    case .real(let number): object = [0x23] + Self.bigEndian(number.bitPattern, 8)
    case .reference(let number): object = [0x81] + Self.bigEndian(UInt64(number), 2)
    case .data(let bytes): object = Self.head(0x40, bytes.count) + bytes
    case .string(let text):
      object =
        text.utf8.allSatisfy { $0 < 0x80 }
        ? Self.head(0x50, text.utf8.count) + Array(text.utf8)
        : Self.head(0x60, text.utf16.count) + text.utf16.flatMap { Self.bigEndian(UInt64($0), 2) }
    case .array(let items): object = Self.head(0xA0, items.count) + items.flatMap { Self.bigEndian(UInt64(add($0)), 2) }
    case .dictionary(let pairs):
      let keys = pairs.map { add(.string($0.0)) }
      let values = pairs.map { add($0.1) }
      object = Self.head(0xD0, pairs.count) + (keys + values).flatMap { Self.bigEndian(UInt64($0), 2) }
    }
    objects.append(object)
    if case .reference(let number) = value { references[number] = objects.count - 1 }
    return objects.count - 1
  }

  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind | UInt8(count)] : [kind | 0x0F, 0x12] + bigEndian(UInt64(count), 4)
  }

  private static func bigEndian(_ number: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }
}

/// An expression as Xcode archives it.
indirect enum TestExpression: Sendable {
  case constant(TestObject)
  case classConstant(String)
  case evaluatedObject
  case variable(String)
  case keyPath(String)
  case function(TestExpression, String, [TestExpression])
  case specifier(String)
  case aggregate([TestExpression])
  case fetch(TestExpression, countOnly: Bool = false)
  case other(Int64, String)

  static let utilities = TestExpression.classConstant("_NSPredicateUtilities")
  static func text(_ text: String) -> TestExpression { .constant(.value(.string(text))) }
  /// `$source.path`, as Foundation's parser makes it.
  static func source(_ path: String) -> TestExpression {
    .function(.variable("source"), path.contains(".") ? "valueForKeyPath:" : "valueForKey:", [.specifier(path)])
  }
}

/// What an archive holds: a value, or an object of a class.
indirect enum TestObject: Sendable {
  case value(TestValue)
  case object(String, [(String, TestObject)])
  case list(String, [TestObject])
  case texts([(String, TestObject)])
}

/// Writes keyed archives.
struct ArchiveWriter {
  private var objects: [TestValue] = [.string("$null")]

  static func archive(_ object: TestObject) -> [UInt8] {
    var writer = ArchiveWriter()
    let root = writer.add(object)
    return writer.archive(root: root)
  }

  static func archive(_ expression: TestExpression) -> [UInt8] {
    var writer = ArchiveWriter()
    let root = writer.add(expression)
    return writer.archive(root: root)
  }

  private func archive(root: Int) -> [UInt8] {
    PropertyListWriter.bytes(
      .dictionary([
        ("$version", .integer(100_000)), ("$archiver", .string("NSKeyedArchiver")),
        ("$top", .dictionary([("root", .reference(root))])), ("$objects", .array(objects)),
      ]))
  }

  private mutating func add(_ object: TestObject) -> Int {
    switch object {
    case .value(.null): return 0
    case .value(let value): return append(value)
    case .object(let name, let fields):
      return addObject(name, fields.map { ($0.0, field($0.1)) })
    case .list(let name, let items): return addObject(name, [("NS.objects", .array(items.map { .reference(add($0)) }))])
    case .texts(let entries):
      let keys = entries.map { TestValue.reference(append(.string($0.0))) }
      let values = entries.map { TestValue.reference(add($0.1)) }
      return addObject("NSMutableDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(values))])
    }
  }

  /// Numbers, flags and bytes of an object's own stand in it; everything else is referred to.
  private mutating func field(_ object: TestObject) -> TestValue {
    if case .value(let value) = object { return value }
    return .reference(add(object))
  }

  private mutating func add(_ expression: TestExpression) -> Int {
    switch expression {
    case .constant(let object):
      let value = add(object)
      return addExpression("NSConstantValueExpression", 0, [("NSConstantValue", .reference(value))])
    case .classConstant(let name):
      return addExpression(
        "NSConstantValueExpression", 0, [("NSConstantValueClassName", .reference(append(.string(name))))])
    case .evaluatedObject: return addExpression("NSSelfExpression", 1, [])
    case .variable(let name):
      return addExpression("NSVariableExpression", 2, [("NSVariable", .reference(append(.string(name))))])
    case .keyPath(let path):
      return addExpression("NSKeyPathExpression", 3, [("NSKeyPath", .reference(append(.string(path))))])
    case .function(let operand, let selector, let arguments):
      let list = arguments.map { TestValue.reference(add($0)) }
      return addExpression(
        "NSFunctionExpression", 4,
        [
          ("NSSelectorName", .reference(append(.string(selector)))), ("NSOperand", .reference(add(operand))),
          ("NSArguments", .reference(addObject("NSMutableArray", [("NS.objects", .array(list))]))),
        ])
    case .specifier(let path):
      return addExpression("NSKeyPathSpecifierExpression", 10, [("NSKeyPath", .reference(append(.string(path))))])
    case .aggregate(let items):
      let list = addObject("NSArray", [("NS.objects", .array(items.map { .reference(add($0)) }))])
      return addExpression("NSAggregateExpression", 14, [("NSCollection", .reference(list))])
    case .fetch(let request, let isCount):
      return addExpression(
        "NSFetchRequestExpression", 50,
        [("NSFRExpression", .reference(add(request))), ("NSCountOnlyFlag", .boolean(isCount))])
    case .other(let kind, let name): return addExpression(name, kind, [])
    }
  }

  private mutating func addExpression(_ name: String, _ kind: Int64, _ fields: [(String, TestValue)]) -> Int {
    addObject(name, fields + [("NSExpressionType", .integer(kind))])
  }

  private mutating func addObject(_ name: String, _ fields: [(String, TestValue)]) -> Int {
    let description = append(
      .dictionary([("$classname", .string(name)), ("$classes", .array([.string(name), .string("NSObject")]))]))
    return append(.dictionary(fields + [("$class", .reference(description))]))
  }

  private mutating func append(_ value: TestValue) -> Int {
    objects.append(value)
    return objects.count - 1
  }
}
