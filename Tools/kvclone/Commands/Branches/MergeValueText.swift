import Foundation
import KVClone
import KVCloneExplorer
import KVCloneMerge

/// Values and conflicts of a merge as text.
struct MergeValueText {
  /// The columns that the tree takes on the left.
  private static let indentation = 6
  private static let greatestHeight = 4
  private static let memberLimit = 10
  private let names: MergeNames
  private let width: Int

  init(_ names: MergeNames) {
    self.names = names
    width = Terminal.width(ofDescriptor: 1) ?? 80
  }

  /// A value in one line: a blob by its size and digest.
  func text(_ value: ObjectConflict.Value?) -> String {
    switch value {
    case nil: "–"
    case .attribute(nil)?, .object(nil)?: "nil"
    case .attribute(.blob(let blob)?)?: "<\(Text.bytes(blob.byteCount)), digest \(names.digest(blob))>"
    case .attribute(let value?)?: ValueText.describe(value)
    case .object(let id?)?: names.name(id)
    case .members(let ids)?: list(ids)
    }
  }

  func text(_ answer: ConflictAnswer) -> String {
    switch answer {
    case .side(let side): side.rawValue
    case .refuse: "refuse"
    default: text(answer.value)
    }
  }

  /// The change of a property: members that are added and removed, or the old and the new value.
  func change(_ old: ObjectConflict.Value?, _ new: ObjectConflict.Value?) -> String {
    guard case .members(let before)? = old, case .members(let after)? = new else {
      return "\(text(old)) → \(text(new))"
    }
    let (was, now) = (Set(before), Set(after))
    let added = after.filter { !was.contains($0) }
    let removed = before.filter { !now.contains($0) }
    if added.isEmpty, removed.isEmpty { return "new order: \(list(after))" }
    return [("+", added), ("-", removed)].filter { !$0.1.isEmpty }.map { "\($0) \(list($1))" }.joined(separator: "  ")
  }

  private func list(_ ids: [ObjectID]) -> String {
    let rest = ids.count > Self.memberLimit ? " … \(ids.count) in all" : ""
    return ids.isEmpty ? "none" : ids.prefix(Self.memberLimit).map(names.name).joined(separator: " ") + rest
  }

  /// A conflict in a few words.
  func sentence(_ conflict: ObjectConflict) -> String {
    let other = conflict.other.map(names.name)
    return switch conflict.kind {
    case .takenAlong: conflict.summary + (other.map { " with \($0)" } ?? "")
    case .notUnique: conflict.summary + (other.map { ": \($0)" } ?? "")
    default: conflict.summary
    }
  }

  /// The three values side by side, with the last change of the object by each side below.
  func columns(_ conflict: ObjectConflict) -> [String] {
    let by = ["", author(conflict.oursChange), author(conflict.theirsChange)]
    var rows: [[String]] = []
    if conflict.base != nil || conflict.ours != nil || conflict.theirs != nil {
      rows.append([conflict.base, conflict.ours, conflict.theirs].map(text))
    }
    if by.contains(where: { !$0.isEmpty }) { rows.append(by) }
    if rows.isEmpty { return [] }
    // A column is as wide as necessary, and at most a third of the line.
    let greatest = max(12, (width - Self.indentation) / 3 - 2)
    let cells = [["base", "ours", "theirs"]] + rows
    let widths = (0..<3).map { column in min(greatest, cells.map { $0[column].count }.max() ?? 0) }
    return cells.flatMap { row in
      let folded = zip(row, widths).map(Self.fold)
      return (0..<(folded.map(\.count).max() ?? 0)).map { number in
        let parts = zip(folded, widths).map { lines, width in
          Text.padded(number < lines.count ? lines[number] : "", width)
        }
        var line = parts.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
      }
    }
  }

  /// Breaks a text into lines of at most `width` characters; a long one ends with an ellipsis.
  private static func fold(_ text: String, _ width: Int) -> [String] {
    var lines: [String] = []
    var rest = Substring(text)
    while !rest.isEmpty, lines.count < greatestHeight {
      let isLast = lines.count == greatestHeight - 1
      lines.append(isLast ? Text.cut(String(rest), width) : String(rest.prefix(width)))
      rest = rest.dropFirst(width)
    }
    return lines
  }

  /// `ann, 2026-11-28T11:00:00Z`, or the number of the commit where the history does not have it.
  private func author(_ change: ObjectChange?) -> String {
    guard let change else { return "" }
    let parts = [change.author.isEmpty ? nil : change.author, change.date?.formatted(.iso8601)].compactMap(\.self)
    return parts.isEmpty ? "commit \(change.commit)" : parts.joined(separator: ", ")
  }
}
