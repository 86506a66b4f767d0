import KVClone

/// The position in a list of members after which a page begins: by the members themselves, so that pages do not repeat
/// or skip members when others are added or removed.
struct MemberCursor: Sendable, Equatable {
  enum Place: Sendable, Equatable {
    /// After a member of an unordered list.
    case after(ObjectID)
    /// After the first `offset` members of a chunk of an ordered list.
    case inChunk(label: UInt64, offset: Int)
  }

  var place: Place
  /// The number of members before the page, as counted by the links that led to it.
  var ordinal: Int

  init(_ place: Place, ordinal: Int) {
    self.place = place
    self.ordinal = ordinal
  }

  /// Parses the text of a query; nil for other texts.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
    // No list has more members than there are serials.
    guard let first = parts[0], let last = parts.last, let last, let ordinal = Int(exactly: last),
      last <= ObjectID.maximumSerial
    else { return nil }
    switch parts.count {
    case 2: place = .after(ObjectID(rawValue: first))
    case 3:
      guard let offset = parts[1], offset <= UInt64(UInt32.max) else { return nil }
      place = .inChunk(label: first, offset: Int(offset))
    default: return nil
    }
    self.ordinal = ordinal
  }

  var text: String {
    switch place {
    case .after(let id): "\(id.rawValue).\(ordinal)"
    case .inChunk(let label, let offset): "\(label).\(offset).\(ordinal)"
    }
  }
}
