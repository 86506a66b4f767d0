import Foundation
import KVClone
import KVCloneCore
import KVCloneQuery

/// A position between results in a URL: the serial of its object, and the values of the sort keys.
///
/// Each value has a letter for its type. A long text is cut, because URLs are bounded: if the object of the position is
/// deleted or its text has changed, the page begins at the cut text, and may repeat results that begin with it.
enum PositionText {
  private static let separator: Character = "!"
  /// The longest text of a key, in bytes.
  private static let maximumLength = 200

  /// Returns nil for a key that has no text, which results are never sorted by.
  static func text(_ position: ResultPosition) -> String? {
    var parts = ["\(position.id.serial)"]
    for key in position.keys {
      guard let text = text(key) else { return nil }
      parts.append(text)
    }
    return parts.joined(separator: String(separator))
  }

  private static func text(_ key: QueryValue) -> String? {
    switch key {
    case .null: "n"
    case .boolean(let value): value ? "b1" : "b0"
    case .integer(let number): "i\(number)"
    case .double(let number): "d\(number)"
    case .decimal(let number): "m\(number.isNaN ? "NaN" : number.description)"
    case .date(let seconds): "t\(seconds)"
    case .uuid(let uuid): "u\(uuid.uuidString)"
    case .string(let text):
      text.utf8.count <= maximumLength
        ? "s\(PercentEncoding.encode(text))" : "p\(PercentEncoding.encode(cut(text)))"
    case .binary, .object, .other, .list: nil
    }
  }

  private static func cut(_ text: String) -> String {
    var bytes = Array(text.utf8.prefix(maximumLength))
    // A cut character is incomplete.
    while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A key of a position, and whether it is only the beginning of a text.
  private typealias Key = (value: QueryValue, isCut: Bool)

  /// Returns the position of a text for the results of a request.
  ///
  /// - Parameter isBackward: whether the page ends at the position.
  /// - Throws: ``ExplorerError`` for a malformed text; errors of the store.
  static func position(
    _ text: String, isBackward: Bool, _ request: FetchRequest, in transaction: borrowing ReadTransaction
  ) throws -> ResultPosition {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    guard let serial = parts.first.flatMap({ UInt64($0) }), serial <= ObjectID.maximumSerial,
      parts.count == request.sortDescriptors.count + 1
    else { throw malformed }
    let id = ObjectID(rootCode: try ResultPosition.rootCode(of: request.entityName, in: transaction), serial: serial)
    let keys = try parts.dropFirst().map { part in
      guard let key = key(part) else { throw malformed }
      return key
    }
    if !keys.contains(where: \.isCut) { return ResultPosition(keys: keys.map(\.value), id: id) }
    let present = try ResultPosition.find(id, among: request, in: transaction)
    var values: [QueryValue] = []
    for (place, key) in keys.enumerated() {
      guard key.isCut, case .string(let start) = key.value else {
        values.append(key.value)
        continue
      }
      if let present, case .string(let whole) = present.keys[place], whole.utf8.starts(with: start.utf8) {
        values.append(.string(whole))
      } else {
        // Before all texts that begin with it, in the direction of the paging.
        let isFirst = request.sortDescriptors[place].ascending != isBackward
        values.append(.string(isFirst ? start : start + "\u{10FFFF}"))
      }
    }
    return ResultPosition(keys: values, id: id)
  }

  private static func key(_ text: Substring) -> Key? {
    let rest = String(text.dropFirst())
    let value: QueryValue?
    switch text.first {
    case "n": value = rest.isEmpty ? .null : nil
    case "b": value = rest == "1" ? .boolean(true) : rest == "0" ? .boolean(false) : nil
    case "i": value = Int64(rest).map { .integer($0) }
    case "d": value = Double(rest).map { .double($0) }
    case "m": value = rest == "NaN" ? .decimal(.nan) : Decimal(string: rest).map { .decimal($0) }
    case "t": value = Double(rest).map { .date($0) }
    case "u": value = UUID(uuidString: rest).map { .uuid($0) }
    case "s", "p": value = PercentEncoding.decode(rest).map { .string($0) }
    default: value = nil
    }
    return value.map { ($0, text.first == "p") }
  }

  private static var malformed: ExplorerError {
    ExplorerError(.badRequest, "the position of the page is malformed or belongs to another order; open the first page")
  }
}
