import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The links of the result, as differences from ours, at both ends of each relationship. A reference type.
final class MergedLinks {
  private struct Link: Hashable, BitwiseCopyable {
    let place: PropertyPlace
    let member: UInt64
  }

  /// One member at one place.
  private struct Entry: BitwiseCopyable {
    let member: UInt64
    /// The number of another entry of the place from 1, or 0.
    let previous: Int
    /// Whether the result has the member and ours has not, or the reverse; nil for a difference that was undone.
    var isAdded: Bool?
  }

  private let entries: ScratchArray<Entry>
  private let numbers: ScratchMap<Link, Int>
  /// The number of the last entry of each place.
  private let lasts: PropertyMap<Int>

  init(in space: ScratchSpace) {
    entries = ScratchArray(in: space)
    numbers = ScratchMap(in: space)
    lasts = PropertyMap(in: space)
  }

  /// The objects with other links than in ours, and possibly others.
  var owners: ObjectSet { lasts.owners }

  /// Whether the members of a place are, or were, others than in ours.
  func contains(_ place: PropertyPlace) -> Bool { lasts.contains(place) }

  /// Whether the result has a member that ours does not have, or the reverse; nil for other members.
  func isAdded(_ member: ObjectID, at place: PropertyPlace) -> Bool? {
    if lasts.isEmpty { return nil }
    return numbers[Link(place: place, member: member.rawValue)].flatMap { entries[$0 - 1].isAdded }
  }

  /// The members that only the result has, or only ours, ascending.
  func members(_ isAdded: Bool, at place: PropertyPlace) -> [ObjectID] {
    var members: [ObjectID] = []
    forEachEntry(at: place) { entry in
      if entry.isAdded == isAdded { members.append(ObjectID(rawValue: entry.member)) }
      return true
    }
    members.sort()
    return members
  }

  /// Whether the result has other members than ours.
  func isChanged(_ place: PropertyPlace) -> Bool {
    var isChanged = false
    forEachEntry(at: place) { entry in
      isChanged = entry.isAdded != nil
      return !isChanged
    }
    return isChanged
  }

  private func forEachEntry(at place: PropertyPlace, _ body: (Entry) -> Bool) {
    var number = lasts[place] ?? 0
    while number > 0 {
      let entry = entries[number - 1]
      if !body(entry) { return }
      number = entry.previous
    }
  }

  /// Adds a link that the result does not have.
  func add(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws(StoreError) {
    for (place, member) in Self.ends(owner, relationship, target) { try note(member, at: place, isAdded: true) }
  }

  /// Removes a link that the result has.
  func remove(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID) throws(StoreError) {
    for (place, member) in Self.ends(owner, relationship, target) { try note(member, at: place, isAdded: false) }
  }

  /// The places of a link, and its member in each: two, or one without an inverse, and for an object that is its own
  /// partner.
  private static func ends(_ owner: ObjectID, _ relationship: CompiledRelationship, _ target: ObjectID)
    -> [(PropertyPlace, ObjectID)]
  {
    let place = PropertyPlace(owner: owner, code: relationship.code)
    let inverse = PropertyPlace(owner: target, code: relationship.inverseCode)
    return relationship.hasInverse && place != inverse ? [(place, target), (inverse, owner)] : [(place, target)]
  }

  private func note(_ member: ObjectID, at place: PropertyPlace, isAdded: Bool) throws(StoreError) {
    let link = Link(place: place, member: member.rawValue)
    guard let number = numbers[link] else {
      try entries.append(Entry(member: member.rawValue, previous: lasts[place] ?? 0, isAdded: isAdded))
      try numbers.set(link, to: entries.count)
      return try lasts.set(place, to: entries.count)
    }
    // The opposite of a former difference undoes it.
    entries[number - 1].isAdded = entries[number - 1].isAdded == !isAdded ? nil : isAdded
  }
}
