import KVCloneCore

/// A parsed NDJSON line without its lists.
///
/// A list may have as many members as fit into the line, which are read one by one in place. Everything else in a line
/// is bounded in number, so that memory stays within a few times the line's own length.
struct ObjectLine {
  /// The maximum number of values besides the members of lists: many more than the properties of an entity.
  private static let valueLimit = 1 << 20

  /// The members of the line, without ``relationships``.
  private(set) var members = JSONObject()
  /// Relationships by name; nil if the line has none. A list is an empty array here.
  private(set) var relationships: JSONObject?
  /// For each relationship, the position of its list, if it is one.
  private(set) var lists: [Int?] = []

  /// Parses a line.
  ///
  /// - Returns: nil for a value that is not an object, which is returned in `other`.
  init?(_ line: Span<UInt8>, other: inout JSONValue) throws(JSONError) {
    var parser = JSONParser(line, valueLimit: ObjectLine.valueLimit)
    let end = UInt8(ascii: "}")
    guard try parser.next() == UInt8(ascii: "{") else {
      other = try parser.value()
      return nil
    }
    var names: Set<String> = []
    if try parser.begin(end) {
      repeat {
        let name = try parser.memberName(after: members, &names)
        if name == "relationships", try parser.next() == UInt8(ascii: "{") {
          // Reserves its place among the names.
          members.append(name, .null)
          relationships = try ObjectLine.relationships(&parser, &lists)
        } else {
          members.append(name, try parser.value())
        }
      } while try parser.hasMore(end)
    }
    try parser.end()
  }

  private static func relationships(
    _ parser: inout JSONParser, _ lists: inout [Int?]
  ) throws(JSONError) -> JSONObject {
    var result = JSONObject()
    var names: Set<String> = []
    guard try parser.begin(UInt8(ascii: "}")) else { return result }
    repeat {
      let name = try parser.memberName(after: result, &names)
      if try parser.next() == UInt8(ascii: "[") {
        lists.append(parser.position)
        try skipList(&parser)
        result.append(name, .array([]))
      } else {
        lists.append(nil)
        result.append(name, try parser.value())
      }
    } while try parser.hasMore(UInt8(ascii: "}"))
    return result
  }

  private static func skipList(_ parser: inout JSONParser) throws(JSONError) {
    guard try parser.begin(UInt8(ascii: "]")) else { return }
    repeat {
      if try parser.next() == UInt8(ascii: "\"") { try parser.skipString() } else { _ = try parser.value() }
    } while try parser.hasMore(UInt8(ascii: "]"))
  }
}
