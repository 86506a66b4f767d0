import KVCloneCore

/// A number of objects of an entity, as far as it is known.
enum EntityCount: Sendable, Equatable {
  case exact(Int)
  /// The number in an earlier state of the store.
  case earlier(Int, commit: UInt64)
  case atLeast(Int)

  /// The number in the state that the page shows; nil if it is not known.
  var exact: Int? { if case .exact(let count) = self { count } else { nil } }

  /// The number in words.
  var text: String {
    switch self {
    case .exact(let count): Text.count(count, "object")
    case .earlier(let count, let commit): "\(Text.count(count, "object")) at commit \(commit)"
    case .atLeast(0): "not counted"
    case .atLeast(let count): "at least \(Text.count(count, "object"))"
    }
  }

  var html: HTML {
    switch self {
    case .exact(let count): Components.number(count)
    case .earlier(let count, let commit): "\(Components.number(count)) \(Components.muted("at commit \(commit)"))"
    case .atLeast(0): Components.muted("not counted")
    case .atLeast(let count): "at least \(Components.number(count))"
    }
  }

  /// Writes the number, or null if it is not known, and then what is known.
  func write(to json: inout JSONWriter, as name: String) {
    json.nullable(name, exact)
    switch self {
    case .exact: break
    case .earlier(let count, let commit):
      json.member("\(name)Earlier", count)
      json.member("\(name)EarlierCommit", commit)
    case .atLeast(let count): json.member("\(name)AtLeast", count)
    }
  }
}
