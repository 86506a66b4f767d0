/// An archive of Foundation's keyed archiver, binary or XML: objects with fields that refer to each other.
///
/// No class is instantiated; an object's class is a text.
struct KeyedArchive {
  /// An archived object, or a value in its place.
  enum Node {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case data([UInt8])
    case object(Object)
  }

  /// An object of a class that is not decoded as a value.
  struct Object {
    /// The name of the object's class.
    var className: String
    fileprivate var fields: [String: BinaryPropertyList.Value]
  }

  private var list: PropertyList
  private var objects: [Int] = []
  private var root: BinaryPropertyList.Value = .null

  init(_ bytes: [UInt8]) throws(BinaryPropertyList.Malformed) {
    list = try PropertyList(bytes)
    let top = try list.indexes(at: list.top)
    guard let objects = top["$objects"], let roots = top["$top"], case .array(let members) = try list.value(at: objects)
    else { throw .init() }
    self.objects = members
    guard let index = try list.indexes(at: roots)["root"] else { throw .init() }
    root = try list.value(at: index)
  }

  /// Returns the root object.
  mutating func rootNode() throws(BinaryPropertyList.Malformed) -> Node { try node(root) }

  /// Returns the object's field with this name; null if it is missing.
  mutating func field(_ name: String, of object: Object) throws(BinaryPropertyList.Malformed) -> Node {
    guard let value = object.fields[name] else { return .null }
    return try node(value)
  }

  /// Returns the object's field with this name if it is a text.
  mutating func text(_ name: String, of object: Object) throws(BinaryPropertyList.Malformed) -> String? {
    guard case .string(let text) = try field(name, of: object) else { return nil }
    return text
  }

  /// Returns the object's field with this name if it is an integer.
  mutating func integer(_ name: String, of object: Object) throws(BinaryPropertyList.Malformed) -> Int64? {
    guard case .integer(let number) = try field(name, of: object) else { return nil }
    return number
  }

  /// Returns the members of an array's or dictionary's field; nil if the object has no such list.
  mutating func members(_ name: String, of object: Object) throws(BinaryPropertyList.Malformed) -> [Node]? {
    guard case .array(let indexes)? = object.fields[name] else { return nil }
    var result: [Node] = []
    for index in indexes { result.append(try node(try list.value(at: index))) }
    return result
  }

  /// Returns the members of an array or a set; nil for other objects.
  mutating func items(of node: Node) throws(BinaryPropertyList.Malformed) -> [Node]? {
    guard case .object(let object) = node, Self.listClasses.contains(object.className) else { return nil }
    return try members("NS.objects", of: object)
  }

  private static let listClasses: Set<String> = [
    "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet",
  ]

  private mutating func node(_ value: BinaryPropertyList.Value) throws(BinaryPropertyList.Malformed) -> Node {
    switch value {
    case .reference(let reference):
      // Object 0 is nil.
      if reference == 0 { return .null }
      guard objects.indices.contains(reference) else { throw .init() }
      let target = try list.value(at: objects[reference])
      switch target {
      case .dictionary: return try object(target)
      case .reference: throw .init()
      default: return try node(target)
      }
    case .null: return .null
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .real(let number): return .real(number)
    case .string(let text): return .string(text)
    case .data(let bytes): return .data(bytes)
    // An archiver writes these as objects.
    case .date, .array, .dictionary: throw .init()
    }
  }

  private mutating func object(_ value: BinaryPropertyList.Value) throws(BinaryPropertyList.Malformed) -> Node {
    var fields: [String: BinaryPropertyList.Value] = [:]
    for (name, index) in try list.indexes(value) { fields[name] = try list.value(at: index) }
    guard case .reference(let reference)? = fields["$class"], objects.indices.contains(reference) else { throw .init() }
    guard let index = try list.indexes(at: objects[reference])["$classname"],
      case .string(let name) = try list.value(at: index)
    else { throw .init() }
    if name == "NSString" || name == "NSMutableString" {
      guard case .string(let text)? = fields["NS.string"] else { throw .init() }
      return .string(text)
    }
    if name == "NSNull" { return .null }
    return .object(Object(className: name, fields: fields))
  }
}
