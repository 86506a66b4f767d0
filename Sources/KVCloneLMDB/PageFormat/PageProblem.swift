/// What can be wrong with a page, a tree or the free list of an LMDB file. No message has a stored key or value.
package enum PageProblem: Error, Sendable, Equatable {
  // Meta pages
  /// A rule of meta pages is broken; the reason in words.
  case meta(String)
  // Pages
  /// The page's number is not one of the file's.
  case outOfRange
  /// The file ends before the page does.
  case beyondEnd
  /// The operating system could not read it (`errno`).
  case unreadable(Int32)
  /// Something else in the file leads to it as well.
  case reachedTwice
  /// It is in use, and on the free list.
  case usedAndFree
  /// Its header has another page's number.
  case wrongNumber
  /// Its header has other flags than a page in its place.
  case wrongKind
  /// The bounds of its free space, or their sum with the entries, do not add up.
  case badBounds
  /// An entry lies outside of it, or has a length or flag that none can have.
  case badEntry
  /// Its keys are not in ascending order.
  case badOrder
  /// A key does not belong between the keys that lead to the page.
  case misplacedKey
  /// A branch leads to one page only.
  case lonelyChild
  /// The pages that a large value has of its own are not what the entry says.
  case badOverflow
  // Trees
  /// Depth, flags or root of a tree are impossible.
  case badTree
  /// A tree has more or fewer pages or entries than it counts.
  case miscounted
  /// An entry of the list of tables is no table.
  case notATable
  // Free list
  /// A record of the free list is not a list of pages.
  case badFreeRecord
  /// The free list names a page twice.
  case freedTwice
  /// Pages are neither in use nor free.
  case leaked(Int)

  /// What is wrong, as the end of a sentence that begins with the page.
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

  /// Whether nothing that is in use is concerned: the file can be read and written all the same.
  package var isHarmless: Bool {
    if case .leaked = self { return true }
    return false
  }

  /// Whether nothing is known of the page but that the system does not give it.
  package var isUnreadable: Bool {
    if case .unreadable = self { return true }
    return false
  }
}

/// Something that a walk over a file found.
package struct PageFinding: Sendable, Equatable {
  package let page: UInt64
  /// The table's name; nil for the file's own pages: meta pages, the list of tables, the free list.
  package let table: String?
  /// The one entry that is lost by it, where it is one; never to be shown.
  package let key: [UInt8]?
  package let problem: PageProblem
}

/// Keys of a table that lead to something damaged: from `low` on, up to but without `high`.
package struct LostRange: Sendable, Equatable {
  package let low: [UInt8]
  /// Nil: to the table's end.
  package let high: [UInt8]?
  /// The damaged page.
  package let page: UInt64
  /// Whether it is one entry: its value has pages of its own.
  package var isOneEntry: Bool { high == low + [0] }

  package init(low: [UInt8], high: [UInt8]?, page: UInt64) {
    self.low = low
    self.high = high
    self.page = page
  }
}

/// A read that came upon a damaged page.
package struct PageError: Error, Sendable, Equatable {
  package let page: UInt64
  package let problem: PageProblem

  package init(page: UInt64, problem: PageProblem) {
    self.page = page
    self.problem = problem
  }
}
