import KVCloneModel
import KVCloneRecords

extension Session {
  /// The object that one with an old id has become, over as many migrations as there were; nil where no word was left.
  borrowing func redirected(_ id: ObjectID) throws(StoreError) -> ObjectID? {
    var current = id
    // A file may say anything: nobody goes round in circles.
    for _ in 0..<1000 {
      let key = ShortKey.object(current)
      guard let value = try storage.get(schema.tables.redirects, key.bytes) else { break }
      do throws(RecordError) {
        let seed = ValueEnvelope.seed(tableCode: .redirects, objectID: current)
        current = try RedirectValue(stored: value, seed: seed).target
      } catch {
        throw schema.corrupted(current, error)
      }
    }
    return current == id ? nil : current
  }

  /// Whether an object came into being in this transaction, as a clone too.
  borrowing func isNew(_ id: ObjectID) throws(StoreError) -> Bool {
    if changes.inserted.contains(id) { return true }
    // The counter moves on with the commit.
    return try id.serial >= max(1, counter(MetadataKey.serial(rootCode: id.rootCode)))
  }
}
