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
  let plan: MergePlan
  /// The conflicts; true if they have an answer.
  let conflicts: [DictionaryConflict: Bool]
}

/// A plan lists a conflict twice.
private struct RepeatedConflict: Error {
  let conflict: DictionaryConflict
}

/// A store (ours) and its branch (theirs) that are compared with the oracle through their public interface.
final class OracleSubject {
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
      rules: options.rules.compactMapValues { MergeRule(rawValue: $0.rawValue) },
      resolve: { [numbers, model] conflict in
        let key = try DictionaryConflict(conflict, numbers)
        let attribute = key.property.flatMap { model.attribute(at: $0, conflict.entity) }
        return options.answer(to: key, attribute)?.managed
      })
  }

  func plan(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> MergeReport {
    let options = self.options(options)
    let plan =
      switch direction {
      case .publish: try store.branches.planPublish(Self.branchName, options: options)
      case .update: try store.branches.planUpdate(Self.branchName, options: options)
      }
    var conflicts: [DictionaryConflict: Bool] = [:]
    for resolved in plan.allConflicts {
      let key = try DictionaryConflict(resolved.conflict, numbers)
      if conflicts[key] != nil { throw RepeatedConflict(conflict: key) }
      conflicts[key] = resolved.answer != nil
    }
    return MergeReport(plan: plan, conflicts: conflicts)
  }

  /// The merged state that a plan shows.
  func state(of report: MergeReport) throws -> DictionaryState { try report.plan.read { tx in try read(tx) } }

  func merge(_ direction: MergeDirection, _ options: DictionaryOptions) throws -> MergeResult {
    let options = self.options(options)
    return switch direction {
    case .publish: try store.branches.publish(Self.branchName, options: options)
    case .update: try store.branches.update(Self.branchName, options: options)
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

extension DictionaryConflict {
  fileprivate init(_ conflict: ObjectConflict, _ numbers: [ObjectID: Int]) throws {
    kind = try #require(Kind(rawValue: conflict.kind.rawValue))
    object = try #require(numbers[conflict.id])
    property = kind == .notUnique ? nil : conflict.property
    other = kind == .notUnique ? conflict.other.flatMap { numbers[$0] } : nil
  }
}

extension DictionaryAnswer {
  fileprivate var managed: ConflictAnswer {
    switch self {
    case .ours: .ours
    case .theirs: .theirs
    case .refuse: .refuse
    case .value(let value): .attribute(value?.managed)
    case .nothing: .object(nil)
    }
  }
}
