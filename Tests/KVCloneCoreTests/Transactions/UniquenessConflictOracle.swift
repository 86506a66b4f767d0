import Foundation
import KVClone
import KVCloneTestSupport

@testable import KVCloneCore

/// The first of some constraints under which another object has the same values, and the first of these objects.
///
/// - Parameter key: an object's values under a constraint; nil if one of them is nil.
func firstConflict<Object>(
  of id: ObjectID, in objects: [ObjectID: Object], _ constraints: [[String]],
  key: (Object, [String]) -> [AttributeValue]?
) -> (constraint: [String], other: ObjectID)? {
  guard let object = objects[id] else { return nil }
  for constraint in constraints {
    guard let values = key(object, constraint) else { continue }
    let others = objects.filter { $0.key != id && key($0.value, constraint) == values }
    if let other = others.keys.min() { return (constraint, other) }
  }
  return nil
}

/// The rules of the merge policies on dictionaries, for objects with everything that a conflict can affect:
/// relationships of all kinds, cascades, large values, derived attributes in a constraint, and a hook that causes
/// additional conflicts.
struct ConflictOracle {
  struct Dot: Equatable {
    var values: [String: AttributeValue] = [:]
    var data: Data?
    var tags: Set<ObjectID> = []
    var group: ObjectID?
    /// A referenced dot, without an inverse.
    var pal: ObjectID?
    /// Owned objects: deleted with the dot.
    var main: ObjectID?
    var parts: Set<ObjectID> = []

    func isSet(_ name: String) -> Bool { values[name] != nil && values[name] != ConflictOracle.defaults[name] }

    /// The values under a constraint; nil if one of them is nil.
    func key(_ constraint: [String]) -> [AttributeValue]? {
      let values = constraint.compactMap { name -> AttributeValue? in
        switch name {
        case "group": group.map { .integer(Int64(bitPattern: $0.rawValue)) }
        case "folded": folded.map { .string($0) }
        default: self.values[name]
        }
      }
      return values.count == constraint.count ? values : nil
    }

    var folded: String? {
      if case .string(let name)? = values["name"] { name.lowercased() } else { nil }
    }
  }

  static let constraints = [["a"], ["b", "c"], ["folded"], ["group", "e"]]
  static let names = ["a", "b", "c", "d", "e", "name"]
  static let defaults: [String: AttributeValue] = ["c": 0, "d": 0]
  /// Dots with this `d` get this `b` before they are saved.
  static let magic: (d: AttributeValue, b: AttributeValue) = (7, 1)

  let policy: MergePolicy
  private(set) var dots: [ObjectID: Dot] = [:]
  /// The existing leaves and parts.
  private(set) var others: Set<ObjectID> = []
  /// The existing groups.
  var groups: Set<ObjectID> = []
  private var before: [ObjectID: Dot] = [:]
  private var othersBefore: Set<ObjectID> = []
  private var changed: Set<ObjectID> = []
  private var returned: Set<ObjectID> = []
  private var replaced: [ObjectID: ObjectID] = [:]

  init(_ policy: MergePolicy) { self.policy = policy }

  mutating func begin() { (before, othersBefore, changed, replaced) = (dots, others, [], [:]) }

  var isUnique: Bool { dots.keys.allSatisfy { conflict(of: $0) == nil } }

  // MARK: Changes

  mutating func insert(_ id: ObjectID, _ dot: Dot) {
    dots[id] = Dot(values: dot.values, data: dot.data, tags: dot.tags, group: dot.group, pal: dot.pal)
    setMain(id, dot.main)
    addParts(id, dot.parts)
  }

  mutating func insertOther(_ id: ObjectID) { others.insert(id) }

  /// A value or nil, even for a new object with a default.
  mutating func set(_ id: ObjectID, _ name: String, _ value: AttributeValue?) {
    guard let dot = dots[id], dot.values[name] != value else { return }
    dots[id]?.values[name] = value
    changed.insert(id)
  }

  mutating func setData(_ id: ObjectID, _ data: Data?) {
    guard let dot = dots[id], dot.data != data else { return }
    dots[id]?.data = data
    changed.insert(id)
  }

  mutating func setGroup(_ id: ObjectID, _ group: ObjectID?) {
    guard let dot = dots[id], dot.group != group else { return }
    dots[id]?.group = group
    changed.insert(id)
  }

  mutating func setPal(_ id: ObjectID, _ pal: ObjectID?) {
    guard let dot = dots[id], dot.pal != pal else { return }
    dots[id]?.pal = pal
    changed.insert(id)
  }

  mutating func setMain(_ id: ObjectID, _ main: ObjectID?) {
    guard let dot = dots[id], dot.main != main else { return }
    if let main { loosen(main) }
    dots[id]?.main = main
    changed.insert(id)
  }

  mutating func addParts(_ id: ObjectID, _ parts: Set<ObjectID>) {
    for part in parts where dots[id]?.parts.contains(part) == false {
      loosen(part)
      dots[id]?.parts.insert(part)
      changed.insert(id)
    }
  }

  mutating func addTags(_ id: ObjectID, _ tags: Set<ObjectID>) {
    guard let dot = dots[id], !tags.isSubset(of: dot.tags) else { return }
    dots[id]?.tags.formUnion(tags)
    changed.insert(id)
  }

  /// Removes the leaf or part from all dots.
  private mutating func loosen(_ other: ObjectID) {
    for (id, dot) in dots where dot.main == other || dot.parts.contains(other) {
      if dot.main == other { dots[id]?.main = nil }
      dots[id]?.parts.remove(other)
      changed.insert(id)
    }
  }

  mutating func removeOther(_ other: ObjectID) {
    loosen(other)
    others.remove(other)
  }

  mutating func removeGroup(_ group: ObjectID) {
    for id in dots.keys where dots[id]?.group == group { setGroup(id, nil) }
    groups.remove(group)
  }

  /// Deletes a dot and the objects that it owns, or only the new ones of them.
  mutating func remove(_ id: ObjectID, onlyNew: Bool = false) {
    guard let dot = dots.removeValue(forKey: id) else { return }
    for other in dot.parts.union([dot.main].compactMap { $0 }) where !onlyNew || !othersBefore.contains(other) {
      others.remove(other)
    }
    for referrer in dots.keys where dots[referrer]?.pal == id { setPal(referrer, nil) }
  }

  // MARK: Resolution

  private mutating func callHook() {
    for (id, dot) in dots where dot.values["d"] == Self.magic.d { set(id, "b", Self.magic.b) }
  }

  /// The steps of a commit before it validates.
  mutating func prepareToSave() {
    callHook()
    if policy == .error { return }
    returned = []
    while settleAll() { callHook() }
  }

  /// `resolveConstraintConflicts`.
  mutating func settleNow() {
    returned = []
    _ = settleAll()
  }

  /// The steps of a batch for each inserted object.
  mutating func settleInserted(_ id: ObjectID) {
    if policy == .error { return }
    returned = []
    var next: ObjectID? = id
    while let id = next {
      while let conflict = conflict(of: id), settle(id, conflict.other, conflict.constraint) {}
      next = replaced[id]
    }
  }

  /// The object that has finally replaced a dot.
  func last(from id: ObjectID) -> ObjectID {
    var id = id
    while let next = replaced[id] { id = next }
    return id
  }

  private func isNew(_ id: ObjectID) -> Bool { before[id] == nil }

  private func conflict(of id: ObjectID) -> (constraint: [String], other: ObjectID)? {
    firstConflict(of: id, in: dots, Self.constraints) { $0.key($1) }
  }

  /// Resolves conflicts of new objects in their order, then of changed stored ones, until none is left; returns whether
  /// there were any.
  private mutating func settleAll() -> Bool {
    if policy == .error { return false }
    var isChanged = false
    var goesOn = true
    while goesOn {
      goesOn = false
      for isInserted in [true, false] {
        var last = ObjectID(rawValue: 0)
        while let id = dots.keys.filter({ isNew($0) == isInserted && (isInserted || changed.contains($0)) && $0 > last }
        ).min() {
          last = id
          while let conflict = conflict(of: id), settle(id, conflict.other, conflict.constraint) { goesOn = true }
        }
      }
      isChanged = isChanged || goesOn
    }
    return isChanged
  }

  private func isHolder(_ id: ObjectID, against other: ObjectID, _ constraint: [String]) -> Bool {
    if isNew(id) != isNew(other) { return isNew(other) }
    if !isNew(id) {
      let key = dots[id]?.key(constraint)
      let held = (before[id]?.key(constraint) == key, before[other]?.key(constraint) == key)
      if held.0 != held.1 { return held.0 }
    }
    return id < other
  }

  private mutating func settle(_ id: ObjectID, _ other: ObjectID, _ constraint: [String]) -> Bool {
    let (holder, comer) = isHolder(id, against: other, constraint) ? (id, other) : (other, id)
    let policy = policy
    if isNew(comer) {
      take(policy == .rollback, from: comer, to: holder) { mine, theirs in
        switch policy {
        case .overwrite: true
        case .mergeByPropertyObjectTrump: theirs
        default: theirs && !mine
        }
      }
      remove(comer, onlyNew: true)
      note(comer, holder)
    } else if policy == .rollback || policy == .mergeByPropertyStoreTrump {
      guard returned.insert(comer).inserted else { return false }
      return putBack(comer)
    } else {
      take(false, from: holder, to: comer) { mine, theirs in
        policy == .mergeByPropertyObjectTrump && theirs && !mine
      }
      remove(holder)
      note(holder, comer)
    }
    return true
  }

  private mutating func note(_ gone: ObjectID, _ kept: ObjectID) {
    returned.remove(kept)
    replaced[gone] = kept
  }

  /// Restores stored values and to-one targets, as far as they still exist. A constraint contains a derived attribute,
  /// so all of them are restored.
  private mutating func putBack(_ id: ObjectID) -> Bool {
    guard let stored = before[id], let now = dots[id] else { return false }
    for name in Self.names { set(id, name, stored.values[name]) }
    setData(id, stored.data)
    setGroup(id, stored.group.flatMap { groups.contains($0) ? $0 : nil })
    setPal(id, stored.pal.flatMap { dots[$0] == nil ? nil : $0 })
    setMain(id, stored.main.flatMap { others.contains($0) ? $0 : nil })
    let after = dots[id]
    // Deleted targets are restored and removed again, which counts as a change.
    return after != now || stored.group != now.group || stored.pal != now.pal || stored.main != now.main
  }

  /// Merges values into the remaining object; `takes` decides by whether the remaining and the other object have set
  /// one.
  private mutating func take(
    _ nothing: Bool, from gone: ObjectID, to kept: ObjectID, _ takes: (Bool, Bool) -> Bool
  ) {
    guard let theirs = dots[gone], let mine = dots[kept] else { return }
    if !nothing {
      for name in Self.names where takes(mine.isSet(name), theirs.isSet(name)) { set(kept, name, theirs.values[name]) }
      if takes(mine.data != nil, theirs.data != nil) { setData(kept, theirs.data) }
      if takes(mine.group != nil, theirs.group != nil) { setGroup(kept, theirs.group) }
      if takes(mine.main != nil, theirs.main != nil) {
        setMain(gone, nil)
        setMain(kept, theirs.main)
      }
      addTags(kept, theirs.tags)
      addParts(kept, theirs.parts)
    }
    if theirs.pal == kept {
      setPal(gone, nil)
    } else if !nothing, theirs.pal != gone, takes(mine.pal != nil && mine.pal != gone, theirs.pal != nil) {
      setPal(kept, theirs.pal)
    }
    if nothing { return }
    for referrer in dots.keys where referrer != gone && referrer != kept && dots[referrer]?.pal == gone {
      setPal(referrer, kept)
    }
  }
}
