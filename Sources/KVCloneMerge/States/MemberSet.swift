import KVCloneModel
import KVCloneRecords

/// The members of a list: a hash table for a short one, bitmaps for a long one, which need a tenth of the memory.
enum MemberSet {
  private static let longCount = 4_096

  case short(Set<ObjectID>)
  case long(ObjectSet)

  init(_ members: [ObjectID]) {
    self = members.count < Self.longCount ? .short(Set(members)) : .long(ObjectSet(members))
  }

  func contains(_ id: ObjectID) -> Bool {
    switch self {
    case .short(let members): members.contains(id)
    case .long(let members): members.contains(id)
    }
  }
}
