import Foundation

/// A property list in either form that archives use: binary, or XML.
///
/// Values are read one by one, by index, in both forms. References between archived objects are `CF$UID` dictionaries
/// in XML, and values of a type of their own in the binary form.
struct PropertyList {
  typealias Value = BinaryPropertyList.Value
  typealias Malformed = BinaryPropertyList.Malformed

  private enum Form {
    case binary(BinaryPropertyList)
    case xml(XMLPropertyList)
  }

  /// The index of the root value.
  let top: Int
  private var form: Form

  init(_ bytes: [UInt8]) throws(Malformed) {
    if bytes.starts(with: Array("bplist00".utf8)) {
      let list = try BinaryPropertyList(bytes)
      top = list.top
      form = .binary(list)
    } else {
      let list = try XMLPropertyList(bytes)
      top = list.top
      form = .xml(list)
    }
  }

  /// Returns the value at an index.
  mutating func value(at index: Int) throws(Malformed) -> Value {
    switch form {
    case .binary(var list): return try list.value(at: index)
    case .xml(let list): return try list.value(at: index)
    }
  }

  /// The values of a dictionary with text keys, as indexes.
  mutating func indexes(_ value: Value) throws(Malformed) -> [String: Int] {
    guard case .dictionary(let pairs) = value else { throw Malformed() }
    var result: [String: Int] = [:]
    for (key, value) in pairs {
      guard case .string(let name) = try self.value(at: key) else { throw Malformed() }
      result[name] = value
    }
    return result
  }

  /// Like `indexes`, for the value at an index.
  mutating func indexes(at index: Int) throws(Malformed) -> [String: Int] { try indexes(try value(at: index)) }
}

/// A property list in XML.
private struct XMLPropertyList {
  /// The parsed values; members are indexes.
  private var values: [PropertyList.Value] = []
  private(set) var top = 0
  private let budget: Budget

  /// The remaining amount of data. Shared values are read again and again; without a bound, a short list could keep a
  /// reader busy for years. Copies of a list share it.
  private final class Budget {
    var left: Int

    init(_ left: Int) { self.left = left }
  }

  init(_ bytes: [UInt8]) throws(PropertyList.Malformed) {
    budget = Budget(4_096 + 16 * bytes.count)
    let root: XMLNode
    do throws(ModelFileError) {
      root = try XMLTree.parse(Data(bytes), path: "", form: .propertyList)
    } catch {
      throw PropertyList.Malformed()
    }
    guard root.name == "plist", root.children.count == 1 else { throw PropertyList.Malformed() }
    top = try add(root.children[0])
  }

  /// Recurses as deep as ``XMLLimits/depth``, which the tree keeps.
  private mutating func add(_ node: XMLNode) throws(PropertyList.Malformed) -> Int {
    let value: PropertyList.Value
    switch node.name {
    case "true": value = .boolean(true)
    case "false": value = .boolean(false)
    case "string": value = .string(node.text)
    case "integer":
      guard let number = Self.integer(Self.trimmed(node.text)) else { throw PropertyList.Malformed() }
      value = .integer(number)
    case "real":
      guard let number = Double(Self.trimmed(node.text)) else { throw PropertyList.Malformed() }
      value = .real(number)
    case "data":
      let digits = Data(node.text.utf8.filter { !" \t\r\n".utf8.contains($0) })
      guard let data = Data(base64Encoded: digits) else { throw PropertyList.Malformed() }
      value = .data([UInt8](data))
    // Archives encode dates as objects, so the seconds are never read.
    case "date": value = .date(.nan)
    case "array":
      var members: [Int] = []
      for child in node.children { members.append(try add(child)) }
      value = .array(members)
    case "dict": value = try dictionary(node)
    default: throw PropertyList.Malformed()
    }
    values.append(value)
    return values.count - 1
  }

  private mutating func dictionary(_ node: XMLNode) throws(PropertyList.Malformed) -> PropertyList.Value {
    guard node.children.count % 2 == 0 else { throw PropertyList.Malformed() }
    var pairs: [(key: Int, value: Int)] = []
    for place in stride(from: 0, to: node.children.count, by: 2) {
      let (key, child) = (node.children[place], node.children[place + 1])
      guard key.name == "key" else { throw PropertyList.Malformed() }
      if key.text == "CF$UID", node.children.count == 2, child.name == "integer" {
        guard let number = Int(Self.trimmed(child.text)), number >= 0 else { throw PropertyList.Malformed() }
        return .reference(number)
      }
      values.append(.string(key.text))
      pairs.append((key: values.count - 1, value: try add(child)))
    }
    return .dictionary(pairs)
  }

  private static func integer(_ text: String) -> Int64? {
    Int64(text) ?? UInt64(text).map { Int64(bitPattern: $0) }
  }

  private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

  func value(at index: Int) throws(PropertyList.Malformed) -> PropertyList.Value {
    guard values.indices.contains(index) else { throw PropertyList.Malformed() }
    let value = values[index]
    switch value {
    case .array(let members): budget.left -= 1 + members.count
    case .dictionary(let pairs): budget.left -= 1 + 2 * pairs.count
    case .data(let bytes): budget.left -= 1 + bytes.count
    default: budget.left -= 1
    }
    if budget.left < 0 { throw PropertyList.Malformed() }
    return value
  }
}
