import KVCloneModel
import KVCloneRecords
import Synchronization

/// Whether the file still has the codes, indexes and derived attributes that this schema knows: another process may open the
/// store with a model that has others, or migrate it.
///
/// Whoever then goes on writing with the old ones would leave records, entries and values behind that are no longer right; and
/// who goes on reading after a migration would look for values and lists where there are none any more.
package final class CatalogVersionCache: Sendable {
  private struct State {
    var known: UInt64
    var isCurrent = true
    var isReadable = true
  }

  /// What was found out last, and for which number of the catalog.
  private let state: Mutex<State>
  /// The state of the storage that was last seen to be readable; 0 for none.
  private let readable = Atomic<UInt64>(0)

  init(catalogNumber: UInt64) {
    state = Mutex(State(known: catalogNumber))
  }

  /// Whether what is stored can be read by this schema: there was no migration since that stores anything otherwise. Between two
  /// commits, it costs nothing to ask again.
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
      // Most models that come later differ in other things.
      let catalog = try StoreCatalog(storage, metadata)
      let isReadable = SchemaCodes.storeAlike(catalog.codes, catalog.model, as: schema.codes, schema.model)
      let isCurrent =
        isReadable && catalog.codes == schema.codes && catalog.model.modelHash == schema.model.modelHash
        && Self.derivations(catalog.model) == Self.derivations(schema.model)
      let found = State(known: number, isCurrent: isCurrent, isReadable: isReadable)
      state.withLock { $0 = found }
      return found
    } catch {
      // What cannot be read, nobody has opened the store with.
      guard error.kind == .corrupted else { throw error }
      return last
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
