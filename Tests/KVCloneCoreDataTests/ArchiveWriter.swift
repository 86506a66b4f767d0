import KVCloneTestSupport

/// An expression in the form that Xcode archives.
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
  /// `$source.path`, in the form that Foundation's parser creates.
  static func source(_ path: String) -> TestExpression {
    .function(.variable("source"), path.contains(".") ? "valueForKeyPath:" : "valueForKey:", [.specifier(path)])
  }
}

/// The content of an archive: a value, or an object of a class.
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

  /// Numbers, flags and bytes of an object are stored inline; everything else is referenced.
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
