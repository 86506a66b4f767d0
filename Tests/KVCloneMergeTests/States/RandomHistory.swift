import Foundation
import KVCloneCore
import KVCloneMerge
import KVCloneModel
import KVCloneTestSupport

/// Random changes of a state with the entities of ``mergeModel``.
struct RandomHistory {
  var random: SeededGenerator
  /// The next serial of new objects, different for both sides.
  var serial: UInt64

  /// Makes a random change that a store would accept.
  mutating func change(_ state: MemoryMergeState) {
    let before = state.objects
    makeChange(state)
    if state.hasEqualUniqueValues { state.objects = before }
  }

  private mutating func makeChange(_ state: MemoryMergeState) {
    let ids = state.objects.keys.sorted()
    guard let id = ids.randomElement(using: &random), !random.chance(in: 5) else { return insert(state) }
    guard let entity = state.entity(of: id) else { return }
    switch random.below(10) {
    case 0: state.delete([id])
    case 1...4: setAttribute(id, entity, state)
    default: changeLink(id, entity, state)
    }
  }

  private mutating func insert(_ state: MemoryMergeState) {
    let names = ["Person", "Manager", "Desk", "Folder", "Note", "Note", "Tag", "Line", "Room", "Seat"]
    let name = names.randomElement(using: &random) ?? "Note"
    let notes = state.objects.filter { $0.value.entity.name == "Note" }.keys.sorted()
    if name == "Line", notes.isEmpty { return }
    let id = state.insert(name, serial)
    serial += 1
    if name == "Line" { state.setTarget(id, "note", notes[random.below(notes.count)]) }
    guard let entity = state.entity(of: id) else { return }
    for _ in 0..<3 { setAttribute(id, entity, state) }
    for _ in 0..<2 { changeLink(id, entity, state) }
  }

  private mutating func setAttribute(_ id: ObjectID, _ entity: CompiledEntity, _ state: MemoryMergeState) {
    let attributes = entity.attributes.filter { !$0.isDerived && $0.field != nil }
    guard let attribute = attributes.randomElement(using: &random) else { return }
    if random.chance(in: 6) { return state.set(id, attribute.path, nil) }
    let number = Int64(random.below(4))
    let value: AttributeValue =
      switch attribute.description.type {
      case .string: .string("text \(number)")
      case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
      case .decimal: .decimal(Decimal(number))
      case .binary: .blob(BlobReference(id: UInt64(number) + 1, byteCount: 5000))
      default: .integer(number)
      }
    state.set(id, attribute.path, value)
  }

  private mutating func changeLink(_ id: ObjectID, _ entity: CompiledEntity, _ state: MemoryMergeState) {
    guard let relationship = entity.relationships.randomElement(using: &random) else { return }
    let members = state.members(of: id, relationship)
    let targets = state.objects.keys.sorted().filter {
      state.entity(of: $0)?.isKind(of: relationship.destinationCode) ?? false
    }
    guard let target = targets.randomElement(using: &random) else { return }
    if relationship.isOrdered, members.count > 1, random.chance(in: 2) {
      state.setOrder(id, relationship.name, members.shuffled(using: &random))
    } else if !members.isEmpty, !isRequired(relationship, target, state), random.chance(in: 4) {
      state.unlink(id, relationship, members[random.below(members.count)])
    } else if relationship.isToMany {
      state.link(id, relationship, target)
      if relationship.isOrdered, random.chance(in: 2) { state.move(target, of: id, relationship.name, to: 0) }
    } else {
      state.setTarget(id, relationship, target)
    }
  }
}

/// Whether an end of the link is mandatory: a store would refuse a state without it.
private func isRequired(_ relationship: CompiledRelationship, _ target: ObjectID, _ state: MemoryMergeState) -> Bool {
  let inverse = state.entity(of: target)?.inverse(of: relationship)
  return !relationship.description.isOptional || !(inverse?.description.isOptional ?? true)
}

extension MergeFixture {
  /// A random base and random changes of both sides.
  static func random(_ seed: UInt64, changes count: Int = 8) throws -> MergeFixture {
    let fixture = try MergeFixture()
    var base = RandomHistory(random: SeededGenerator(seed: seed), serial: 1)
    for _ in 0..<20 { base.change(fixture.base) }
    fixture.fork()
    var ours = RandomHistory(random: SeededGenerator(seed: seed ^ 1 << 40), serial: 100)
    var theirs = RandomHistory(random: SeededGenerator(seed: seed ^ 1 << 41), serial: 200)
    for _ in 0..<count { ours.change(fixture.ours) }
    for _ in 0..<count { theirs.change(fixture.theirs) }
    return fixture
  }
}
