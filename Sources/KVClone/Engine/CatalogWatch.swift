import KVCloneModel
import KVCloneRecords
import Synchronization

/// Whether the file still has the fetch indexes and derived attributes that this schema knows: another process may open the
/// store with a model that has others.
///
/// Whoever then goes on writing with the old ones would leave entries and values behind that are no longer right.
final class FetchIndexWatch: Sendable {
  private struct State {
    var known: UInt64
    var isCurrent = true
  }

  /// What was found out last, and for which number of the catalog.
  private let state: Mutex<State>

  init(catalogNumber: UInt64) {
    state = Mutex(State(known: catalogNumber))
  }

  func isCurrent(
    _ schema: Schema, _ storage: borrowing StorageTransaction, _ metadata: StorageTable
  ) throws(StoreError) -> Bool {
    let last = state.withLock { $0 }
    do throws(StoreError) {
      let number = try Metadata.counter(storage, metadata, MetadataKey.catalog)
      if last.known == number { return last.isCurrent }
      // Most models that come later differ in other things.
      let catalog = try StoreCatalog(storage, metadata)
      let isCurrent =
        catalog.codes.fetchIndexes == schema.codes.fetchIndexes
        && Self.derivations(catalog.model) == Self.derivations(schema.model)
      state.withLock { $0 = State(known: number, isCurrent: isCurrent) }
      return isCurrent
    } catch {
      // What cannot be read, nobody has opened the store with.
      guard error.kind == .damaged else { throw error }
      return last.isCurrent
    }
  }

  /// Every derived attribute with its expression, which the model's hash leaves out.
  private static func derivations(_ model: ManagedObjectModel) -> [String: String] {
    var found: [String: String] = [:]
    for entity in model.entities {
      for attribute in entity.attributes {
        if let expression = attribute.derivationExpression { found["\(entity.name).\(attribute.name)"] = expression }
      }
    }
    return found
  }
}

/// What one transaction has found out, whose state does not change; an object of its own, because sessions are borrowed where
/// requests are planned.
final class FetchIndexMemo: Sendable {
  /// 0 where nothing is known, 1 for true, 2 for false.
  private let state = Atomic<UInt8>(0)

  var areCurrent: Bool? {
    get {
      let state = state.load(ordering: .relaxed)
      return state == 0 ? nil : state == 1
    }
    set { state.store(newValue == nil ? 0 : newValue == true ? 1 : 2, ordering: .relaxed) }
  }
}
