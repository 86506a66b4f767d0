import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations

/// Random changes of a store and of branches with moving bases, compared with dictionaries of titles.
@Suite("Layers compared with dictionaries")
struct LayerPropertyTests {
  static let roundCount = PropertySeeds.count(30)

  @Test(
    "random changes, rebases, snapshots, rollbacks and resets", arguments: StorageKind.allCases, PropertySeeds.seeds)
  func random(_ kind: StorageKind, _ seed: UInt64) throws {
    var run = try LayerRun(kind, seed)
    for _ in 0..<Self.roundCount { try run.step() }
    try run.end()
  }
}

/// One sequence of random changes.
private struct LayerRun {
  /// The titles of the books.
  typealias State = [ObjectID: String]

  private struct Branch {
    let store: ObjectStore
    var state: State
    var base: State
    var snapshots: [String: (state: State, base: State)] = [:]
  }

  private let fixture: BranchFixture
  private var generator: SeededGenerator
  private var main: State = [:]
  private var branches: [String: Branch] = [:]
  private var names = 0

  init(_ kind: StorageKind, _ seed: UInt64) throws {
    fixture = try BranchFixture(kind)
    generator = SeededGenerator(seed: seed)
    for _ in 0..<4 { main = try change(fixture.store, main) }
  }

  mutating func step() throws {
    let name = branches.keys.sorted().randomElement(using: &generator)
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<5: main = try change(fixture.store, main)
    case 5 where branches.count < 3:
      names += 1
      let store = try fixture.store.branches.create("b\(names)")
      branches["b\(names)"] = Branch(store: store, state: main, base: main)
    case 6:
      guard let name, Bool.random(using: &generator) else { break }
      try fixture.store.branches.delete(name)
      branches[name] = nil
    case 7..<10:
      if let name { try rebase(name) }
    case 10..<15:
      if let name { try changeSnapshots(name) }
    default:
      guard let name, var branch = branches[name] else { break }
      branch.state = try change(branch.store, branch.state)
      branches[name] = branch
    }
    try expectAll()
  }

  /// Deletes all branches and objects; nothing of them may remain.
  mutating func end() throws {
    for name in branches.keys.sorted() { try fixture.store.branches.delete(name) }
    branches.removeAll()
    try expectAll()
    try fixture.store.write { tx in
      for entity in ["Book", "Page", "Tag"] { try tx.delete(try tx.fetch(FetchRequest(entity)).map(\.id)) }
    }
    #expect(try fixture.remains() == [:])
  }

  // MARK: Changes

  private mutating func change(_ store: ObjectStore, _ old: State) throws -> State {
    var (state, generator) = (old, generator)
    defer { self.generator = generator }
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let title = "t\(Int.random(in: 0..<100, using: &generator))"
        let book = state.keys.sorted().randomElement(using: &generator)
        switch Int.random(in: 0..<7, using: &generator) {
        case 0:
          guard let book else { continue }
          try tx.delete([book])
          state[book] = nil
        case 1:
          guard let book else { continue }
          try tx.set(book, "cover", .binary(Data(repeating: 5, count: Int.random(in: 1..<6_000, using: &generator))))
        case 2:
          // Long lists have entries of their own.
          guard let book else { continue }
          for number in 0..<60 {
            try tx.insert("Page", ["text": .string("\(number)")], relationships: ["book": [book]])
          }
        case 3:
          guard let book else { continue }
          try tx.delete(try tx.members(book, "pages").filter { $0.serial.isMultiple(of: 3) })
        case 4:
          guard let book else { continue }
          try tx.set(book, "title", .string(title))
          state[book] = title
        default:
          let tag = try tx.insert("Tag", ["name": .string(title)])
          let new = try tx.insert(
            "Book", ["title": .string(title), "cover": .binary(Data(repeating: 1, count: 3_000))],
            relationships: ["tags": [tag]])
          if let book { try tx.link(book, "tags", [tag]) }
          state[new] = title
        }
      }
    }
    return state
  }

  private mutating func rebase(_ name: String) throws {
    let keeps = Int.random(in: 0..<3, using: &generator) > 0
    let savesState = Bool.random(using: &generator)
    guard var branch = branches[name] else { return }
    let before = try BranchFixture.text(branch.store)
    let snapshot = try fixture.store.runWrite(label: "rebase", timeout: nil) { tx in
      try BranchLayerTests.manage(&tx) { manager in
        let snapshot = savesState ? try manager.createSnapshot(ofBranch: name) : nil
        _ = try keeps ? manager.rebaseKeepingChanges(name) : manager.rebaseEmpty(name)
        return snapshot
      }
    }
    if let snapshot { branch.snapshots[snapshot] = (branch.state, branch.base) }
    branch.base = main
    if !keeps { branch.state = main }
    branches[name] = branch
    #expect(try BranchFixture.text(branch.store) == (keeps ? before : BranchFixture.text(fixture.store)))
  }

  private mutating func changeSnapshots(_ name: String) throws {
    guard var branch = branches[name] else { return }
    // Automatic snapshots are deleted by their number.
    let left = Set(try branch.store.snapshots().map(\.name))
    branch.snapshots = branch.snapshots.filter { left.contains($0.key) }
    let known = branch.snapshots.keys.sorted().randomElement(using: &generator)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      names += 1
      try branch.store.createSnapshot(named: "s\(names)")
      branch.snapshots["s\(names)"] = (state: branch.state, base: branch.base)
    case 1:
      guard let known else { return }
      try branch.store.deleteSnapshot(named: known)
      branch.snapshots[known] = nil
    case 2:
      guard let known, let target = branch.snapshots[known] else { return }
      let before = (state: branch.state, base: branch.base)
      let result = try fixture.store.branches.reset(name, to: try branch.store.snapshot(named: known))
      branch.snapshots[try #require(result.automaticSnapshot).name] = before
      (branch.state, branch.base) = target
    default:
      let before = (state: branch.state, base: branch.base)
      let result = try fixture.store.branches.reset(name)
      branch.snapshots[try #require(result.automaticSnapshot).name] = before
      branch.state = branch.base
    }
    branches[name] = branch
  }

  // MARK: Comparison

  private static func titles(_ tx: borrowing ReadTransaction) throws -> State {
    var state: State = [:]
    for book in try tx.fetch(FetchRequest("Book")) {
      if case .string(let title)? = try book.value("title") { state[book.id] = title }
    }
    return state
  }

  private func expectAll() throws {
    let issues = try fixture.store.check().issues.map(\.message)
    #expect(issues.isEmpty)
    #expect(try fixture.store.read { tx in try Self.titles(tx) } == main)
    for (name, branch) in branches {
      #expect(try branch.store.read { tx in try Self.titles(tx) } == branch.state, "\(name)")
      let snapshots = try branch.store.snapshots().map(\.name)
      #expect(Set(snapshots).isSubset(of: Set(branch.snapshots.keys)), "\(name)")
      for snapshot in snapshots {
        let shown = try branch.store.snapshot(named: snapshot).read { tx in try Self.titles(tx) }
        #expect(shown == branch.snapshots[snapshot]?.state, "\(name), \(snapshot)")
      }
    }
  }
}
