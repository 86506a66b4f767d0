import KVCloneModel
import KVCloneRecords
import Synchronization

/// Whether the file still has the fetch indexes that this schema knows: another process may open the store with a model that
/// has others.
///
/// Whoever then goes on writing with the old ones would leave entries behind that are no longer right.
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
      let isCurrent = try StoreCatalog(storage, metadata).codes.fetchIndexes == schema.codes.fetchIndexes
      state.withLock { $0 = State(known: number, isCurrent: isCurrent) }
      return isCurrent
    } catch {
      // What cannot be read, nobody has opened the store with.
      guard error.kind == .damaged else { throw error }
      return last.isCurrent
    }
  }
}
