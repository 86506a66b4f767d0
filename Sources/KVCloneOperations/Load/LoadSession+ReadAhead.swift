import KVCloneCore
import KVCloneModel

/// The ids of a text's objects, known before the first one is inserted: a line may then refer to later ones, and each
/// record is written once, with its links.
extension LoadSession {
  /// Whether the text may be read ahead: ids are only known if one transaction inserts all its objects.
  var readsAhead: Bool { options.batch == nil && !options.skipsBroken }

  /// Reads the ids of all lines, in the order of the text. Errors are left to the load itself.
  func readAhead(_ source: LineReader.Source) throws(StoreError) {
    let numbers = schema.entities.map { _ in ScratchArray<UInt32>(in: space) }
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
            let lines = numbers[Int(entity.root)]
            // Its place among the objects of the root entity, until the store's next id is known.
            let place = ObjectID(rootCode: entity.root, serial: UInt64(lines.count + 1))
            do throws(StoreError) {
              try lines.append(try labels.expect(entity: entity.index, serial: serial, id: place))
            } catch {
              failure = error
            }
          }
        }
        if isBroken { return }
      }
    }()
    if let failure { throw failure }
    for entity in schema.entities { ownLines[entity.index] = OwnLines(first: 1, numbers: numbers[Int(entity.index)]) }
  }

  /// Converts the places of the lines that were read ahead to the ids that the transaction will assign. An id beyond the
  /// last serial stays unknown: its line is rejected.
  func placeLabels(_ transaction: borrowing WriteTransaction) throws(StoreError) {
    if !readsAhead { return }
    let places = ownLines
    ownLines = [:]
    var roots: [(code: UInt16, first: UInt64)?] = Array(repeating: nil, count: schema.entities.count)
    for entity in schema.entities where entity.root == entity.index {
      guard let lines = places[entity.index], !lines.numbers.isEmpty else { continue }
      let code = try transaction.session.schema.entity(entity.name).rootCode
      // Without serials left, no line of the entity can be loaded.
      guard let first = try? transaction.session.nextSerial(rootCode: code) else { continue }
      roots[Int(entity.index)] = (code, first)
      ownLines[code] = OwnLines(first: first, numbers: lines.numbers)
    }
    labels.mapExpected { place in
      guard let root = roots[Int(place.rootCode)], place.serial - 1 <= ObjectID.maximumSerial - root.first else {
        return LoadLabels.undefined
      }
      return ObjectID(rootCode: root.code, serial: root.first + place.serial - 1)
    }
  }
}

/// The lines with objects of one root entity, in their order, which is that of the ids.
struct OwnLines {
  /// The serial of the first object.
  let first: UInt64
  /// The numbers of the ids in the lines.
  let numbers: ScratchArray<UInt32>

  /// The number of the line that inserted an object; nil if the store had the object before.
  func number(of id: ObjectID) -> UInt32? {
    guard id.serial >= first, id.serial - first < UInt64(numbers.count) else { return nil }
    return numbers[Int(id.serial - first)]
  }
}
