import KVClone
import KVCloneCore
import KVCloneMerge
import KVCloneModel
import KVCloneTestSupport
import Testing

/// The direction of a merge between a store and its branch.
enum MergeDirection: CaseIterable {
  case publish, update
}

/// The plan of a merge in the oracle's terms.
struct MergeReport {
  /// The conflicts; true if they have an answer.
  var conflicts: [DictionaryConflict: Bool]
  var canMerge: Bool
  var changeCount: Int
}

/// A store and a branch that are compared with the oracle.
protocol OracleSubject {
  /// Applies transactions to the store (ours) or to the branch (theirs).
  func apply(_ transactions: [[DictionaryEdit]], to side: DictionarySide) throws
  func plan(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> MergeReport
  /// The planned state, read before the merge.
  func plannedState(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> DictionaryState
  func merge(_ direction: MergeDirection, _ options: DictionaryOptions) throws
  func state(of side: DictionarySide) throws -> DictionaryState
  func check() throws
}

/// The public interface of stores and branches as a subject.
final class StoreOracleSubject: OracleSubject {
  private static let branchName = "theirs"

  private let model: DictionaryModel
  private let storage: StorageFixture
  private let store: ObjectStore
  private let branch: ObjectStore
  private var ids: [Int: ObjectID] = [:]
  private var numbers: [ObjectID: Int] = [:]

  /// Creates a store with a base, and a branch of it.
  init(_ model: DictionaryModel, base: [[DictionaryEdit]], on kind: StorageKind) throws {
    self.model = model
    storage = try StorageFixture(kind)
    store = try ObjectStore.create(in: storage.engine, model: model.managed)
    var known: [Int: ObjectID] = [:]
    for transaction in base { try Self.apply(transaction, to: store, &known) }
    branch = try store.branches.create(Self.branchName)
    for (number, id) in known { note(number, id) }
  }

  deinit { store.close() }

  private func note(_ number: Int, _ id: ObjectID) {
    ids[number] = id
    numbers[id] = number
  }

  func apply(_ transactions: [[DictionaryEdit]], to side: DictionarySide) throws {
    for transaction in transactions {
      var known = ids
      try Self.apply(transaction, to: side == .ours ? store : branch, &known)
      for (number, id) in known { note(number, id) }
    }
  }

  private static func apply(
    _ transaction: [DictionaryEdit], to store: ObjectStore, _ known: inout [Int: ObjectID]
  ) throws {
    var ids = known
    try store.write { tx in
      func id(_ number: Int) throws -> ObjectID { try #require(ids[number]) }
      for edit in transaction {
        switch edit {
        case .insert(let number, let entity, let values):
          ids[number] = try tx.insert(entity, values.mapValues(\.managed))
        case .set(let object, let attribute, let value): try tx.set(id(object), attribute, value?.managed)
        case .setToOne(let object, let name, let target): try tx.setToOne(id(object), name, target.map(id))
        case .link(let object, let name, let target, let index):
          try tx.link(id(object), name, [id(target)], at: index)
        case .unlink(let object, let name, let target): try tx.unlink(id(object), name, [id(target)])
        case .reorder(let object, let name, let members): try tx.setMembers(id(object), name, members.map(id))
        case .delete(let objects): try tx.delete(objects.map(id))
        }
      }
    }
    known = ids
  }

  private func options(_ options: DictionaryOptions) -> MergeOptions {
    MergeOptions(
      policy: options.policy.flatMap { MergeSide(rawValue: $0.rawValue) },
      rules: options.rules.compactMapValues { MergeRule(rawValue: $0.rawValue) })
  }

  private func planned(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> MergePlan {
    let options = self.options(options)
    return switch direction {
    case .publish: try store.branches.planPublish(Self.branchName, options: options)
    case .update: try store.branches.planUpdate(Self.branchName, options: options)
    }
  }

  func plan(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> MergeReport {
    let plan = try planned(direction, options)
    var conflicts: [DictionaryConflict: Bool] = [:]
    for resolved in plan.resolved {
      let conflict = resolved.conflict
      let kind = try #require(DictionaryConflict.Kind(rawValue: conflict.kind.rawValue))
      let isUnion = kind == .notUnique
      let key = DictionaryConflict(
        kind: kind, object: try #require(numbers[conflict.id]), property: isUnion ? nil : conflict.property,
        other: isUnion ? conflict.other.flatMap { numbers[$0] } : nil)
      #expect(conflicts[key] == nil, "\(key) is listed twice")
      conflicts[key] = resolved.answer != nil && resolved.answer != .refuse
    }
    return MergeReport(conflicts: conflicts, canMerge: plan.canMerge, changeCount: plan.changes.count)
  }

  func plannedState(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> DictionaryState {
    try planned(direction, options).read { tx in try read(tx) }
  }

  func merge(_ direction: MergeDirection, _ options: DictionaryOptions) throws {
    let options = self.options(options)
    switch direction {
    case .publish: _ = try store.branches.publish(Self.branchName, options: options)
    case .update: _ = try store.branches.update(Self.branchName, options: options)
    }
  }

  func state(of side: DictionarySide) throws -> DictionaryState {
    try (side == .ours ? store : branch).read { tx in try read(tx) }
  }

  func check() throws { try checked(store) }

  private func read(_ tx: borrowing ReadTransaction) throws -> DictionaryState {
    var state = DictionaryState(model: model)
    var found: [(id: ObjectID, entity: String)] = []
    for entity in model.entities where entity.parent == nil {
      try tx.forEachObject(of: entity.name) { object in
        found.append((object.id, object.entityName))
        return true
      }
    }
    for (id, entity) in found {
      let number = try #require(numbers[id])
      var object = DictionaryObject(entity: entity)
      for attribute in model.attributes(entity) {
        if attribute.type == .binary {
          object.values[attribute.name] = try tx.data(id, attribute.name).flatMap { DictionaryValue(.binary($0)) }
        } else {
          object.values[attribute.name] = try tx.value(id, attribute.name).flatMap(DictionaryValue.init)
        }
      }
      state.objects[number] = object
      for relationship in model.relationships(entity) {
        let members = try tx.members(id, relationship.name).map { try #require(numbers[$0]) }
        state.setMembers(number, relationship.name, members)
      }
    }
    return state
  }
}
