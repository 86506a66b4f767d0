import Synchronization

/// Earlier versions of a store's model with their codes, each loaded when a former name is looked up.
package final class FormerCatalogs: Sendable {
  private let known = Mutex<[UInt64: StoreCatalog]>([:])

  /// - Throws: `corrupted`.
  package func catalog(
    _ number: UInt64, _ storage: borrowing StorageTransaction, _ metadata: StorageTable
  ) throws(StoreError) -> StoreCatalog {
    if let catalog = known.withLock({ $0[number] }) { return catalog }
    let catalog = try StoreCatalog(storage, metadata, number: number)
    known.withLock { $0[number] = catalog }
    return catalog
  }
}
