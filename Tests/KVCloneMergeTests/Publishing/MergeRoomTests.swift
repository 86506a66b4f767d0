import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// A plan knows whether the merge fits into the file (`StoreOptions.maximumFileBytes`).
@Suite struct MergeRoomTests {
  enum Call: CaseIterable { case publish, chosen, update, draft, keptDraft }

  enum Change: CaseIterable {
    case longerTexts, shorterTexts, insertedPages, deletedPages
    /// One short text; the branch has long ones of another book.
    case smallPart
  }

  /// A store with 40 texts, one side that has changed them, and a file that may grow a bit.
  private struct Setup {
    let test: TestStore
    let call: Call
    private let book: ObjectID
    private var draft: ObjectID?

    /// - Parameter growth: the limit of the file, in pages above its size.
    init(_ call: Call, _ change: Change, growth: Int) throws {
      self.call = call
      test = try TestStore(snapshotModel)
      let store = test.store
      book = try store.write { tx in
        let book = try tx.insert("Book")
        let length = change == .shorterTexts || change == .deletedPages ? 3000 : 100
        for _ in 0..<40 { try tx.insert("Page", ["text": Self.text(length)], relationships: ["book": [book]]) }
        return book
      }
      let other = try store.insert("Book")
      func edit(_ store: ObjectStore, _ book: ObjectID) throws {
        try store.write { tx in
          switch change {
          case .longerTexts:
            for page in try tx.members(book, "pages") { try tx.set(page, "text", Self.text(3000)) }
          case .shorterTexts:
            for page in try tx.members(book, "pages") { try tx.set(page, "text", "short") }
          case .deletedPages: try tx.delete(try tx.members(book, "pages"))
          case .smallPart:
            try tx.set(book, "title", "changed")
            for _ in 0..<40 { try tx.insert("Page", ["text": Self.text(3000)], relationships: ["book": [other]]) }
          case .insertedPages:
            for _ in 0..<40 { try tx.insert("Page", ["text": Self.text(3000)], relationships: ["book": [book]]) }
          }
        }
      }
      switch call {
      case .publish, .chosen: try edit(try store.branches.create("draft"), book)
      case .update:
        try store.branches.create("draft")
        try edit(store, book)
      case .draft, .keptDraft:
        let clone = try store.clone([book], options: .with { $0.keepsBase = true })
        draft = clone.root
        try edit(store, clone.root)
      }
      var options = StoreOptions()
      options.tracksHistory = true
      options.maximumFileBytes = try store.info().fileBytes + UInt64(growth * 4096)
      try test.reopen(options: options)
    }

    private static func text(_ length: Int) -> AttributeValue { .string(String(repeating: "x", count: length)) }

    private var options: MergeOptions {
      var options = MergeOptions()
      options.keepsClones = call == .keptDraft
      return options
    }

    func plan() throws -> MergePlan {
      switch call {
      case .publish: try test.store.branches.planPublish("draft")
      case .chosen: try test.store.branches.planPublish("draft", only: [book])
      case .update: try test.store.branches.planUpdate("draft")
      case .draft, .keptDraft: try test.store.drafts.planMerge(try #require(draft), options: options)
      }
    }

    func merge() throws {
      switch call {
      case .publish: try test.store.branches.publish("draft")
      case .chosen: try test.store.branches.publish("draft", only: [book])
      case .update: try test.store.branches.update("draft")
      case .draft, .keptDraft: try test.store.drafts.merge(try #require(draft), options: options)
      }
    }
  }

  @Test(
    "a plan can merge if and only if the merge fits into the file", .needsDataFile(.sizes), arguments: Call.allCases,
    Change.allCases)
  func limit(_ call: Call, _ change: Change) throws {
    var outcomes: Set<Bool> = []
    for growth in stride(from: 0, through: 240, by: 20) {
      let setup = try Setup(call, change, growth: growth)
      let store = setup.test.store
      let before = try BranchFixture.text(store)
      let plan = try setup.plan()
      #expect(try BranchFixture.text(store) == before, "a plan writes nothing")
      if plan.canMerge {
        try setup.merge()
      } else {
        #expect(plan.issues.map(\.kindName) == ["limitExceeded"], "\(growth)")
        expectError(.limitExceeded) { try setup.merge() }
        #expect(try BranchFixture.text(store) == before)
      }
      outcomes.insert(plan.canMerge)
      #expect(try CheckedStore.issues(store) == [])
    }
    // The others may always fit, for example because a draft frees pages.
    if change == .longerTexts || change == .insertedPages { #expect(outcomes == [false, true]) }
    #expect(outcomes.contains(true))
  }
}
