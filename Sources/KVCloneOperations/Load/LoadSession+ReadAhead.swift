import KVCloneCore
import KVCloneModel

/// The ids of a text's objects, known before the first one is inserted: a line may then refer to later ones, and each
/// record is written once, with its links.
extension LoadSession {
  /// Whether the text may be read ahead: ids are only known if one transaction inserts all its objects.
  var readsAhead: Bool { options.batch == nil && !options.skipsBroken }

  /// Reads the ids of all lines, in the order of the text. Errors are left to the load itself.
  func readAhead(_ source: LineReader.Source) throws(StoreError) {
    var counts = [UInt64](repeating: 0, count: schema.entities.count)
    var reader = LineReader()
    var failure: StoreError?
    _ = try? {
      var hasMore = true
      while hasMore, failure == nil {
        hasMore = try reader.next(from: source) { line, number in
          guard let (entity, serial) = parser.id(of: line, number) else { return }
          let root = entity.root
          counts[Int(root)] += 1
          do throws(StoreError) {
            // Its place among the objects of the root entity, until the store's next id is known.
            try labels.expect(
              entity: entity.index, serial: serial, id: ObjectID(rootCode: root, serial: counts[Int(root)]))
          } catch {
            failure = error
          }
        }
      }
    }()
    if let failure { throw failure }
  }

  /// Converts the places of the lines that were read ahead to the ids that the transaction will assign.
  func placeLabels(_ transaction: borrowing WriteTransaction) throws(StoreError) {
    if !readsAhead || labels.count == 0 { return }
    var roots: [(code: UInt16, first: UInt64)?] = Array(repeating: nil, count: schema.entities.count)
    for entity in schema.entities where entity.root == entity.index {
      let code = try transaction.session.schema.entity(entity.name).rootCode
      roots[Int(entity.index)] = (code, try transaction.session.nextSerial(rootCode: code))
    }
    labels.mapExpected { place in
      // Roots are entities of their own.
      guard let root = roots[Int(place.rootCode)] else { return LoadLabels.undefined }
      return ObjectID(rootCode: root.code, serial: root.first + place.serial - 1)
    }
  }
}
