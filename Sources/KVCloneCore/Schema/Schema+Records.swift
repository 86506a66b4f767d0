#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneModel
public import KVCloneRecords

extension Schema {
  /// Verifies and opens a record by its layout.
  @_lifetime(copy bytes)
  package func view(of bytes: RawSpan, id: ObjectID) throws(StoreError) -> RecordView {
    let known: RecordLayout?
    do throws(RecordError) {
      known = layout(id: try RecordView.layoutID(of: bytes))
    } catch {
      throw corrupted(id, error)
    }
    guard let known else { throw unknownLayout(of: bytes, id) }
    return try view(of: bytes, known, id: id)
  }

  /// The error for a record with an unknown layout or entity: if its bytes are intact, another process has migrated the
  /// store.
  func unknownLayout(of bytes: RawSpan, _ id: ObjectID) -> StoreError {
    guard ValueEnvelope.isIntact(bytes, seed: ValueEnvelope.seed(object: id)) else {
      return corrupted(id, .checksumMismatch)
    }
    guard let layout = try? RecordView.layoutID(of: bytes), layout > codes.lastLayout else {
      return corrupted(id, .wrongLayout)
    }
    return StoreError(
      .incompatibleModel,
      "\(rootName(of: id)) has a newer model version, because another process has migrated the store; close the store "
        + "and open it again", object: rootName(of: id))
  }

  /// Opens a record by a layout that the caller has looked up.
  @_lifetime(copy bytes)
  @inlinable @inline(__always)
  package func view(of bytes: RawSpan, _ layout: RecordLayout, id: ObjectID) throws(StoreError) -> RecordView {
    do throws(RecordError) {
      return try RecordView(bytes, layout: layout, seed: ValueEnvelope.seed(object: id))
    } catch {
      throw corrupted(id, error, layout)
    }
  }

  /// Opens a record after the caller has verified its checksum.
  @_lifetime(copy bytes)
  @inlinable
  package func view(ofIntact bytes: RawSpan, _ layout: RecordLayout, id: ObjectID) throws(StoreError) -> RecordView {
    do throws(RecordError) {
      return try RecordView(intact: bytes, layout: layout)
    } catch {
      throw corrupted(id, error, layout)
    }
  }

  /// The entity of a record.
  package func entity(of record: borrowing RecordView, id: ObjectID) throws(StoreError) -> CompiledEntity {
    guard let entity = entity(code: record.layout.entityCode), entity.rootCode == id.rootCode else {
      throw corrupted(id, .wrongLayout)
    }
    return entity
  }

  /// The error for an id without an object.
  ///
  /// - Parameter entity: its expected entity, if the caller knows it.
  package func notFound(_ id: ObjectID, _ entity: CompiledEntity? = nil) -> StoreError {
    let name = entity.map { "\($0.name)/\(id.serial)" } ?? rootName(of: id)
    return StoreError(
      .objectNotFound, "there is no object \(name); it was deleted, or belongs to another store", entity: entity?.name,
      object: name)
  }

  /// The error for a corrupted record.
  ///
  /// - Parameter layout: the record's layout, which determines its entity unless the layout id is what is corrupted.
  @usableFromInline
  package func corrupted(_ id: ObjectID, _ error: RecordError, _ layout: RecordLayout? = nil) -> StoreError {
    let own = error == .checksumMismatch ? nil : layout.flatMap { entity(code: $0.entityCode) }
    let named = own?.rootCode == id.rootCode ? own : entity(code: id.rootCode)
    let name = named.map { "\($0.name)/\(id.serial)" } ?? rootName(of: id)
    return StoreError(
      .corrupted, "the record of \(name) is corrupted: \(error) Run `check` to see the extent", entity: named?.name,
      object: name)
  }

  /// The error for a value that does not fit a clone's record.
  package func unstorable(_ id: ObjectID, _ error: RecordError) -> StoreError {
    if error != .recordTooLarge { return corrupted(id, error) }
    return StoreError(
      .limitExceeded, "the clone of \(rootName(of: id)) cannot be stored: \(error)",
      entity: entity(code: id.rootCode)?.name, object: rootName(of: id))
  }

  /// The id with its root entity's name, for an unknown concrete entity.
  package func rootName(of id: ObjectID) -> String {
    "\(entity(code: id.rootCode)?.name ?? String(id.rootCode))/\(id.serial)"
  }
}

extension Schema {
  /// Parses an object's name, `Note/12` or its URI: returns the id and the entity of the name. Does not check whether
  /// the object exists.
  package func parse(_ text: String, storeUUID: UUID) throws(StoreError) -> (id: ObjectID, entity: CompiledEntity) {
    let (name, serial) = try split(text, storeUUID: storeUUID)
    let entity = try self.entity(nowOrBefore: name)
    return (ObjectID(rootCode: entity.rootCode, serial: serial), entity)
  }

  /// Splits an object's name into its two parts.
  func split(_ text: String, storeUUID: UUID) throws(StoreError) -> (entity: String, serial: UInt64) {
    let prefix = "x-kvclone://"
    var rest = text[...]
    var serialPrefix = ""
    if text.hasPrefix(prefix) {
      rest = text.dropFirst(prefix.count)
      guard let slash = rest.firstIndex(of: "/"), rest[..<slash].lowercased() == storeUUID.uuidString.lowercased()
      else {
        throw StoreError(.objectNotFound, "\(text) belongs to another store; open that store", object: text)
      }
      rest = rest[rest.index(after: slash)...]
      serialPrefix = "p"
    }
    guard let slash = rest.lastIndex(of: "/"), rest[rest.index(after: slash)...].hasPrefix(serialPrefix) else {
      throw invalidName(text)
    }
    let digits = rest[rest.index(after: slash)...].dropFirst(serialPrefix.count)
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let serial = UInt64(digits),
      serial > 0, serial <= ObjectID.maximumSerial
    else { throw invalidName(text) }
    return (String(rest[..<slash]), serial)
  }

  /// The entity with a name, or the one that had an otherwise unused name in an earlier version of the model.
  private func entity(nowOrBefore name: String) throws(StoreError) -> CompiledEntity {
    if entitiesByName[name] == nil, let code = codes.former?.entities[name], let entity = entity(code: code) {
      return entity
    }
    return try entity(name)
  }

  private func invalidName(_ text: String) -> StoreError {
    StoreError(
      .invalidObjectName, "\(text) is not the name of an object; write Entity/serial, such as Note/12", object: text)
  }

  /// The layout for a record's header (`RecordView.layoutAndEntity`); nil for entities that are not in `codes`.
  @usableFromInline
  func layout(
    _ names: UInt32, of record: RawSpan, _ id: ObjectID, ifOf codes: Set<UInt16>
  ) throws(StoreError) -> RecordLayout? {
    let code = UInt16(truncatingIfNeeded: names >> 16)
    guard codes.contains(code) else {
      _ = try entityCode(names, of: record, id)
      guard entity(code: code) != nil else { throw unknownLayout(of: record, id) }
      return nil
    }
    guard let layout = layout(id: UInt16(truncatingIfNeeded: names)) else { throw unknownLayout(of: record, id) }
    return layout
  }

  /// The entity code of a record's header, checked against its layout. Operations that only filter or count by entity
  /// do not verify the checksum, so a flipped bit could change the entity.
  func entityCode(_ names: UInt32, of record: RawSpan, _ id: ObjectID) throws(StoreError) -> UInt16 {
    guard let layout = layout(id: UInt16(truncatingIfNeeded: names)) else { throw unknownLayout(of: record, id) }
    let code = UInt16(truncatingIfNeeded: names >> 16)
    guard layout.entityCode == code else { throw corrupted(id, .wrongLayout) }
    return code
  }

  /// Decodes the id in an object table's key.
  @inlinable
  package func objectID(_ key: borrowing RawSpan) throws(StoreError) -> ObjectID {
    guard let id = try? NumberKey.objectID(copy key) else { throw malformedKey() }
    return id
  }

  @usableFromInline
  func malformedKey() -> StoreError {
    StoreError(.corrupted, "an object table has a malformed key; run `check` to see the extent")
  }
}
