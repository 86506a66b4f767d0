/// A problem of a page, a tree or the free list of an LMDB file. No message contains a stored key or value.
package enum PageProblem: Error, Sendable, Equatable {
  // Meta pages
  /// The meta page violates a rule; the reason in words.
  case meta(String)
  // Pages
  /// The page number is not in the file.
  case outOfRange
  /// The page ends beyond the end of the file.
  case beyondEnd
  /// The operating system could not read the page (`errno`).
  case unreadable(Int32)
  /// Another page leads to it as well.
  case reachedTwice
  /// The page is in use, and on the free list.
  case usedAndFree
  /// Its header has another page number.
  case wrongNumber
  /// Its header has flags that do not match its place.
  case wrongKind
  /// The bounds of its free space are inconsistent with its entries.
  case badBounds
  /// An entry is outside of the page, or has an impossible length or flag.
  case badEntry
  /// Its keys are not in ascending order.
  case badOrder
  /// A key is outside of the range of the keys that lead to the page.
  case misplacedKey
  /// A branch page has only one child.
  case lonelyChild
  /// The overflow pages of a value do not match the entry.
  case badOverflow
  // Trees
  /// The depth, flags or root of a tree are impossible.
  case badTree
  /// A tree's counts of pages or entries are wrong.
  case miscounted
  /// An entry of the list of tables is not a table.
  case notATable
  // Free list
  /// A record of the free list is not a list of pages.
  case badFreeRecord
  /// The free list names a page twice.
  case freedTwice
  /// Pages are neither in use nor free.
  case leaked(Int)

  /// The problem, as the end of a sentence that begins with the page.
  package var message: String {
    switch self {
    case .meta(let reason): reason
    case .outOfRange: "its number is outside the file"
    case .beyondEnd: "the file ends within it"
    case .unreadable(let code): "it cannot be read: \(errorText(code))"
    case .reachedTwice: "more than one entry refers to it"
    case .usedAndFree: "it is both in use and on the free list"
    case .wrongNumber: "its header has another page number"
    case .wrongKind: "its header has the wrong page type"
    case .badBounds: "its free space and its entries do not add up to a page"
    case .badEntry: "an entry has an invalid offset, length or flag"
    case .badOrder: "its keys are out of order"
    case .misplacedKey: "it has a key outside the range of its branch"
    case .lonelyChild: "it is a branch page with fewer than two children"
    case .badOverflow: "the header of an overflow page is wrong"
    case .badTree: "the depth, flags or root of a tree are invalid"
    case .miscounted: "the page or entry count of a tree is wrong"
    case .notATable: "the list of tables has an entry that is not a table"
    case .badFreeRecord: "a record of the free list is not a list of pages of the file"
    case .freedTwice: "the free list contains it twice"
    case .leaked(let count): count == 1 ? "it is neither in use nor free" : "\(count) pages are neither in use nor free"
    }
  }

  /// Whether nothing in use is affected: the file can be read and written.
  package var isHarmless: Bool {
    if case .leaked = self { return true }
    return false
  }

  /// Whether the only finding is that the system cannot read the page.
  package var isUnreadable: Bool {
    if case .unreadable = self { return true }
    return false
  }
}

/// A finding of a walk over a file.
package struct PageFinding: Sendable, Equatable {
  package let page: UInt64
  /// The table's name; nil for the file's own pages: meta pages, the list of tables, the free list.
  package let table: String?
  /// The key of the lost entry, if it is a single one; never displayed.
  package let key: [UInt8]?
  package let problem: PageProblem
}

/// A range of a table's keys that lead to something corrupted: from `low` up to but without `high`.
package struct LostRange: Sendable, Equatable {
  package let low: [UInt8]
  /// Nil for the table's end.
  package let high: [UInt8]?
  /// The corrupted page.
  package let page: UInt64
  /// Whether the range is a single entry with a value on overflow pages.
  package var isOneEntry: Bool { high == low + [0] }

  package init(low: [UInt8], high: [UInt8]?, page: UInt64) {
    self.low = low
    self.high = high
    self.page = page
  }
}

/// A read that met a corrupted page.
package struct PageError: Error, Sendable, Equatable {
  package let page: UInt64
  package let problem: PageProblem

  package init(page: UInt64, problem: PageProblem) {
    self.page = page
    self.problem = problem
  }
}
