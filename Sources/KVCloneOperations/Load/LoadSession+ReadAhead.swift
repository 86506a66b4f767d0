import KVCloneCore
import KVCloneModel

/// The ids of a text's objects, known before the first one is inserted: a line may then refer to later ones, and each
/// record is written once, with its links.
extension LoadSession {
  /// Whether the text may be read ahead: ids are only known if one transaction inserts all its objects.
  var readsAhead: Bool { options.batch == nil && !options.skipsBroken }

  /// Reads the ids of all lines, in the order of the text, up to the first line that cannot be loaded. The load itself
  /// reports that line, and an error of the source.
  ///
  /// - Throws: `diskFull`, `io`, if the ids exceed the scratch space.
  func readAhead(_ source: LineReader.Source) throws(StoreError) {
    linesAhead = schema.entities.map { _ in ScratchArray(in: space) }
    var reader = LineReader()
    var isValid = true
    var hasMore = true
    var count = 0
    while hasMore, isValid {
      do {
        hasMore = try reader.next(from: source) { line, number in isValid = try expect(parser.id(of: line, number)) }
        count += 1
        if count & 1023 == 0 { options.idProgress?(reader.byteCount) }
      } catch let error as StoreError {
        throw error
      } catch {
        return
      }
    }
  }

  /// Announces the id of a line; returns false if the line cannot be loaded.
  private func expect(_ id: LineParser.LineID) throws(StoreError) -> Bool {
    switch id {
    case .noObject: return true
    case .invalid: return false
    case .object(let entity, let serial):
      let lines = linesAhead[Int(entity.root)]
      // Its place among the objects of the root entity, until the store's next id is known.
      let place = ObjectID(rootCode: entity.root, serial: UInt64(lines.count + 1))
      try lines.append(try labels.expect(entity: entity.index, serial: serial, id: place))
      return true
    }
  }

  /// Converts the places of the lines that were read ahead to the ids that the transaction will assign. An id beyond the
  /// last serial stays unknown: its line is rejected.
  func placeLabels(_ transaction: borrowing WriteTransaction) throws(StoreError) {
    if !readsAhead { return }
    var roots: [(code: UInt16, first: UInt64)?] = Array(repeating: nil, count: schema.entities.count)
    for (entity, lines) in zip(schema.entities, linesAhead) where !lines.isEmpty {
      let code = try transaction.session.schema.entity(entity.name).rootCode
      // Without serials left, no line of the entity can be loaded.
      guard let first = try? transaction.session.nextSerial(rootCode: code) else { continue }
      roots[Int(entity.index)] = (code, first)
      ownLines[code] = OwnLines(first: first, numbers: lines)
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
