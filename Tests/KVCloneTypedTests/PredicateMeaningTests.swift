import Foundation
import KVClone
import Testing

/// A translated predicate finds the same objects as the Swift predicate.
struct PredicateMeaningTests {
  /// An item as a Swift value.
  private struct Row: Sendable {
    var name = ""
    var stock: Int64 = 0
    var rating: Int32?
    var flag: Bool?
    var note: Parent?
    var tags: [String] = []
  }

  private struct Parent: Sendable {
    let title: String
    let subtitle: String?
    var items: [String] = []
  }

  /// Every combination of nil and empty values.
  private static let rows: [Row] = {
    var rows: [Row] = []
    let parents: [Parent?] = [nil, Parent(title: "x", subtitle: nil), Parent(title: "y", subtitle: "xs")]
    for parent in parents {
      for rating: Int32? in [nil, 0, 3] {
        for flag: Bool? in [nil, false, true] {
          for tags in [[], ["a"], ["a", "b"]] {
            let name = "row\(rows.count)"
            rows.append(
              Row(name: name, stock: Int64(rows.count % 4), rating: rating, flag: flag, note: parent, tags: tags))
          }
        }
      }
    }
    return rows.map { row in
      let siblings = rows.filter { $0.note?.title == row.note?.title }.map(\.name)
      var row = row
      row.note?.items = siblings
      return row
    }
  }()

  private static func filled() throws -> Notebook {
    let notebook = try Notebook()
    try notebook.store.write { tx in
      var (notes, tags): ([String: Note.ID], [String: Tag.ID]) = ([:], [:])
      for row in rows {
        if let parent = row.note, notes[parent.title] == nil {
          notes[parent.title] = try tx.insert(Note(title: parent.title, subtitle: parent.subtitle)).objectID
        }
        for tag in row.tags where tags[tag] == nil { tags[tag] = try tx.insert(Tag(name: tag)).objectID }
        try tx.insert(
          Item(
            default: row.flag, name: row.name, rating: row.rating, stock: row.stock,
            note: row.note.flatMap { notes[$0.title] }, tags: ToMany(row.tags.compactMap { tags[$0] })))
      }
      try tx.insert(Note(title: "empty"))
    }
    return notebook
  }

  private func check(
    _ notebook: Notebook, _ predicate: Foundation.Predicate<Item.Fields>,
    sourceLocation: SourceLocation = #_sourceLocation, _ holds: (Row) -> Bool
  ) throws {
    let found = try notebook.store.read { tx in try tx.fetch(Item.self, where: predicate) }.map(\.name)
    let format = try FetchRequest(Item.self, where: predicate).predicate?.predicateFormat ?? ""
    let expected = Self.rows.filter(holds).map(\.name)
    #expect(Set(found) == Set(expected), "\(format)", sourceLocation: sourceLocation)
    // A predicate that matches all rows or none would prove nothing.
    #expect(!expected.isEmpty && expected.count < Self.rows.count, "\(format)", sourceLocation: sourceLocation)
  }

  @Test func comparisonsWithNil() throws {
    let notebook = try Self.filled()
    try check(notebook, #Predicate { $0.rating == nil }) { $0.rating == nil }
    try check(notebook, #Predicate { $0.rating != nil }) { $0.rating != nil }
    try check(notebook, #Predicate { $0.rating == 3 }) { $0.rating == 3 }
    try check(notebook, #Predicate { $0.rating != 3 }) { $0.rating != 3 }
    try check(notebook, #Predicate { !($0.rating == 3) }) { $0.rating != 3 }
    try check(notebook, #Predicate { ($0.rating ?? 1) < 2 }) { ($0.rating ?? 1) < 2 }
    try check(notebook, #Predicate { !(($0.rating ?? 1) < 2) }) { !(($0.rating ?? 1) < 2) }
    try check(notebook, #Predicate { $0.default == true }) { $0.flag == true }
    try check(notebook, #Predicate { $0.default != true }) { $0.flag != true }
    try check(notebook, #Predicate { !($0.default ?? false) }) { !($0.flag ?? false) }
    try check(notebook, #Predicate { !($0.default ?? true) }) { !($0.flag ?? true) }
    try check(notebook, #Predicate { ($0.default ?? true) == ($0.rating == nil) }) {
      ($0.flag ?? true) == ($0.rating == nil)
    }
    let wanted: [Int32?] = [nil, 3]
    try check(notebook, #Predicate { wanted.contains($0.rating) }) { wanted.contains($0.rating) }
  }

  @Test func chains() throws {
    let notebook = try Self.filled()
    try check(notebook, #Predicate { $0.note == nil }) { $0.note == nil }
    try check(notebook, #Predicate { $0.note?.subtitle == nil }) { $0.note?.subtitle == nil }
    try check(notebook, #Predicate { $0.note?.title != "x" }) { $0.note?.title != "x" }
    try check(notebook, #Predicate { ($0.note?.subtitle ?? "none") == "none" }) {
      ($0.note?.subtitle ?? "none") == "none"
    }
    try check(notebook, #Predicate { $0.note?.title.contains("x") != true }) { $0.note?.title.contains("x") != true }
    try check(notebook, #Predicate { $0.note?.title.contains("x") == false }) { $0.note?.title.contains("x") == false }
    try check(notebook, #Predicate { $0.note?.title.contains("x") != false }) { $0.note?.title.contains("x") != false }
    try check(notebook, #Predicate { $0.note?.title.contains("x") == nil }) { $0.note?.title.contains("x") == nil }
    try check(notebook, #Predicate { !($0.note?.title.starts(with: "x") ?? false) }) {
      !($0.note?.title.starts(with: "x") ?? false)
    }
    try check(notebook, #Predicate { $0.note?.subtitle?.isEmpty == false }) { $0.note?.subtitle?.isEmpty == false }
    try check(notebook, #Predicate { $0.note?.subtitle?.count != 2 }) { $0.note?.subtitle?.count != 2 }
    try check(notebook, #Predicate { ($0.note?.title == "x") != ($0.rating == 3) }) {
      ($0.note?.title == "x") != ($0.rating == 3)
    }
    try check(notebook, #Predicate { $0.rating.flatMap { $0 + 1 } == 1 }) { $0.rating.flatMap { $0 + 1 } == 1 }
    try check(notebook, #Predicate { $0.note.flatMap { $0.subtitle ?? "none" } == "none" }) {
      $0.note.flatMap { $0.subtitle ?? "none" } == "none"
    }
    try check(notebook, #Predicate { $0.note.flatMap { _ in 5 } == 5 }) { $0.note.flatMap { _ in 5 } == 5 }
    try check(notebook, #Predicate { $0.note.flatMap { $0.title == "x" ? 1 : 2 } != 1 }) {
      $0.note.flatMap { $0.title == "x" ? 1 : 2 } != 1
    }
  }

  /// A to-many relationship behind an empty to-one relationship: the count is nil, not 0.
  @Test func listsBehindNothing() throws {
    let notebook = try Self.filled()
    try check(notebook, #Predicate { ($0.note?.items.count ?? 100) > 50 }) { ($0.note?.items.count ?? 100) > 50 }
    try check(notebook, #Predicate { $0.note?.items.count != 0 && $0.rating == 3 }) {
      $0.note?.items.count != 0 && $0.rating == 3
    }
    try check(notebook, #Predicate { $0.note?.items.count == nil }) { $0.note?.items.count == nil }
    try check(notebook, #Predicate { ($0.note?.items.filter { $0.rating == 0 }.count ?? 8) == 8 }) {
      ($0.note?.items.filter { name in Self.rows.contains { $0.name == name && $0.rating == 0 } }.count ?? 8) == 8
    }
    try check(notebook, #Predicate { $0.note?.items.isEmpty == false }) { $0.note?.items.isEmpty == false }
    try check(notebook, #Predicate { $0.note?.items.isEmpty != true && $0.rating == 3 }) {
      $0.note?.items.isEmpty != true && $0.rating == 3
    }
    try check(notebook, #Predicate { $0.note?.items.contains { $0.name == "row30" } != true }) {
      $0.note?.items.contains { $0 == "row30" } != true
    }
    try check(notebook, #Predicate { $0.note?.items.allSatisfy { $0.name != "row30" } == true }) {
      $0.note?.items.allSatisfy { $0 != "row30" } == true
    }
    try check(notebook, #Predicate { $0.note?.items.first?.name == "row27" }) { $0.note?.items.first == "row27" }
    try check(notebook, #Predicate { $0.note?.items.first?.tags.count == 0 }) {
      $0.note?.items.first.map { name in Self.rows.first { $0.name == name }?.tags.count } == 0
    }
  }

  @Test func members() throws {
    let notebook = try Self.filled()
    try check(notebook, #Predicate { $0.tags.contains { $0.name == "b" } != true }) { !$0.tags.contains("b") }
    try check(notebook, #Predicate { true != $0.tags.contains { $0.name == "b" } }) { !$0.tags.contains("b") }
    try check(notebook, #Predicate { $0.tags.contains { $0.name == "b" } == false }) { !$0.tags.contains("b") }
    try check(notebook, #Predicate { $0.tags.contains { $0.name == "b" } != false }) { $0.tags.contains("b") }
    try check(notebook, #Predicate { !$0.tags.contains { $0.name != "a" } }) { !$0.tags.contains { $0 != "a" } }
    try check(notebook, #Predicate { $0.tags.allSatisfy { $0.name == "a" } }) { $0.tags.allSatisfy { $0 == "a" } }
    try check(notebook, #Predicate { !$0.tags.allSatisfy { $0.name == "a" } }) { !$0.tags.allSatisfy { $0 == "a" } }
    try check(notebook, #Predicate { $0.tags.isEmpty != true }) { !$0.tags.isEmpty }
    try check(notebook, #Predicate { $0.stock % 3 - 1 == -1 }) { $0.stock % 3 - 1 == -1 }
  }

  @Test func rangesOfWhatHasAnOrderOfItsOwnAreRefused() throws {
    let (low, high) = (Item.Priority.low, Item.Priority.high)
    let range = high...low
    func refused(
      _ predicate: Foundation.Predicate<Item.Fields>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      expectError(.invalidPredicate, sourceLocation: sourceLocation) {
        _ = try FetchRequest(Item.self, where: predicate)
      }
    }
    refused(#Predicate { range.contains($0.priority) })
    refused(#Predicate { (high...low).contains($0.priority) })
    refused(#Predicate { (high..<low).contains($0.priority) })
    refused(#Predicate { $0.priority < low })
    expectError(.invalidPredicate) { _ = try FetchRequest(Item.self, sortedBy: [SortDescriptor(\.priority)]) }
    #expect(try FetchRequest(Item.self, sortedBy: [SortDescriptor(\.objectID)]).sortDescriptors.count == 1)
  }
}

/// The most urgent priority comes first.
extension Item.Priority: Comparable {
  /// Reverses the order of the raw values.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}
