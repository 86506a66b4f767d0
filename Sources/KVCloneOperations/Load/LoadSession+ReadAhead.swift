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
        var isBroken = false
        hasMore = try reader.next(from: source) { line, number in
          switch parser.id(of: line, number) {
          case .none: break
          // The load ends there.
          case .broken: isBroken = true
          case .object(let entity, let serial):
            counts[Int(entity.root)] += 1
            // Its place among the objects of the root entity, until the store's next id is known.
            let place = ObjectID(rootCode: entity.root, serial: counts[Int(entity.root)])
            do throws(StoreError) {
              try labels.expect(entity: entity.index, serial: serial, id: place)
            } catch {
              failure = error
            }
          }
        }
        if isBroken { return }
      }
    }()
    if let failure { throw failure }
  }

  /// Notes the first ids that the transaction will assign, and converts the places of the lines that were read ahead to
  /// ids. An id beyond the last serial stays unknown: its line is rejected.
  func placeLabels(_ transaction: borrowing WriteTransaction) throws(StoreError) {
    var roots: [(code: UInt16, first: UInt64)?] = Array(repeating: nil, count: schema.entities.count)
    firstSerials = [:]
    for entity in schema.entities where entity.root == entity.index {
      let code = try transaction.session.schema.entity(entity.name).rootCode
      // No serials are left: no line of the entity can be loaded.
      guard let first = try? transaction.session.nextSerial(rootCode: code) else { continue }
      roots[Int(entity.index)] = (code, first)
      firstSerials[code] = first
    }
    if !readsAhead { return }
    labels.mapExpected { place in
      guard let root = roots[Int(place.rootCode)], place.serial - 1 <= ObjectID.maximumSerial - root.first else {
        return LoadLabels.undefined
      }
      return ObjectID(rootCode: root.code, serial: root.first + place.serial - 1)
    }
  }
}
