import KVClone

extension Sequence where Element: Hashable {
  /// The elements without duplicates.
  func withoutRepeats() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// The objects that arguments name, each once, in the order given: `Note/1` and its URI are the same object.
  ///
  /// - Parameter includesDeleted: also accepts names of objects that were deleted.
  /// - Throws: an error that lists all missing objects, the first 100 by name.
  borrowing func objectIDs(named names: [String], includesDeleted: Bool = false) throws -> [ObjectID] {
    var ids: [ObjectID] = []
    var missing: [StoreError] = []
    for name in names.withoutRepeats() {
      do throws(StoreError) {
        ids.append(try objectID(named: name))
      } catch {
        if includesDeleted, let id = objectID(ofDeleted: name) {
          ids.append(id)
          continue
        }
        guard error.kind == .objectNotFound else { throw error }
        missing.append(error)
      }
    }
    guard let first = missing.first else { return ids.withoutRepeats() }
    if missing.count == 1 { throw first }
    let rest = missing.count > 100 ? ", and \(missing.count - 100) more" : ""
    throw Failure(
      first.kindName,
      "objects not found: \(missing.prefix(100).compactMap(\.object).joined(separator: ", "))\(rest); they were deleted, "
        + "or belong to another store", entity: first.entity, property: nil, object: first.object)
  }
}
