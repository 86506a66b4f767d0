import KVCloneModel
import KVCloneRecords
import Synchronization

/// Checks whether the file still has the codes, indexes and derived attributes of this schema: another process may open
/// the store with a different model, or migrate it.
///
/// Writing with outdated ones would leave invalid records, entries and values; reading after a migration would search
/// for values and lists that do not exist any more.
package final class CatalogVersionCache: Sendable {
  private struct State {
    var known: UInt64
    var isCurrent = true
    var isReadable = true
  }

  /// The last result, and the number of its catalog.
  private let state: Mutex<State>
  /// The state of the storage that was last found readable; 0 for none.
  private let readable = Atomic<UInt64>(0)

  init(catalogNumber: UInt64) {
    state = Mutex(State(known: catalogNumber))
  }

  /// Whether this schema can read the stored data: no migration has changed its form since. Cheap to call again between
  /// two commits.
  @inline(__always)
  func isReadable(
    _ schema: Schema, _ storage: borrowing StorageTransaction, _ metadata: StorageTable
  ) throws(StoreError) -> Bool {
    let number = storage.stateNumber
    if number != 0, number == readable.load(ordering: .relaxed) { return true }
    return try isReadable(schema, storage, metadata, number)
  }

  @inline(never)
  private func isReadable(
    _ schema: Schema, _ storage: borrowing StorageTransaction, _ metadata: StorageTable, _ stateNumber: UInt64
  ) throws(StoreError) -> Bool {
    let isReadable = try look(schema, storage, metadata).isReadable
    if isReadable { readable.store(stateNumber, ordering: .relaxed) }
    return isReadable
  }

  package func isCurrent(
    _ schema: Schema, _ storage: borrowing StorageTransaction, _ metadata: StorageTable
  ) throws(StoreError) -> Bool {
    try look(schema, storage, metadata).isCurrent
  }

  private func look(
    _ schema: Schema, _ storage: borrowing StorageTransaction, _ metadata: StorageTable
  ) throws(StoreError) -> State {
    let last = state.withLock { $0 }
    do throws(StoreError) {
      let number = try Metadata.counter(storage, metadata, MetadataKey.catalog)
      if last.known == number { return last }
      // Most later models differ in other things.
      let catalog = try StoreCatalog(storage, metadata)
      let isReadable = SchemaCodes.storeAlike(catalog.codes, catalog.model, as: schema.codes, schema.model)
      let isCurrent =
        isReadable && catalog.codes == schema.codes && catalog.model.modelHash == schema.model.modelHash
        && Self.derivations(catalog.model) == Self.derivations(schema.model)
      let found = State(known: number, isCurrent: isCurrent, isReadable: isReadable)
      state.withLock { $0 = found }
      return found
    } catch {
      // A store with a corrupted catalog cannot have been opened by another process.
      guard error.kind == .corrupted else { throw error }
      return last
    }
  }

  /// Every derived attribute with its expression, which the model's hash omits.
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

/// A result for one transaction with a state that does not change; a separate object, because sessions are borrowed
/// during planning.
final class FetchIndexMemo: Sendable {
  /// 0 for unknown, 1 for true, 2 for false.
  private let state = Atomic<UInt8>(0)

  var areCurrent: Bool? {
    get {
      let state = state.load(ordering: .relaxed)
      return state == 0 ? nil : state == 1
    }
    set { state.store(newValue == nil ? 0 : newValue == true ? 1 : 2, ordering: .relaxed) }
  }
}
