import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks the store's description of itself: format, model, layouts, counters.
extension StoreChecker {
  borrowing func checkMetadata(_ run: CheckRun) throws(StoreError) {
    let table = session.schema.tables.metadata
    let before = run.damages.count
    try session.forEachEntry(table) { (key, value) throws(StoreError) in
      checkMetadataValue(key.withUnsafeBytes { Array($0) }, value, run)
      return !run.isFull
    }
    if run.lost.any(table) { return }
    do throws(StoreError) {
      _ = try StoreCatalog(session.storage, table)
    } catch {
      guard error.kind == .corrupted else { throw error }
      // An unreadable value was reported by its name; a missing one is reported here.
      if run.damages.count == before { run.report(.metadata, error.message) }
    }
    for name in [MetadataKey.format, MetadataKey.commitCounter] {
      if try !session.has(table, MetadataKey.bytes(name)) {
        run.report(.metadata, "the metadata entry \(name) is missing")
      }
    }
    run.commit = try? Metadata.get(session.storage, table, MetadataKey.commitCounter, as: CounterValue.self)?.value
    run.checksDerived = DerivedRefresh.hasValues(in: session)
    for entity in session.schema.entities { checkLayouts(of: entity, run) }
  }

  private borrowing func checkMetadataValue(_ key: [UInt8], _ value: borrowing RawSpan, _ run: CheckRun) {
    func page() -> Int? { run.pages?.page(session.schema.tables.metadata, key) }
    guard let name = String(validating: key, as: UTF8.self) else {
      return run.report(.malformedKey, page: page(), "a name in the metadata is not UTF-8")
    }
    let seed = ValueEnvelope.seed(tableCode: .metadata, key: key)
    do throws(RecordError) {
      switch name {
      case MetadataKey.format:
        let format = try FormatRecord(stored: copy value)
        if let expected = run.expectedUUID, format.storeUUID != expected {
          run.report(.metadata, "the UUID of the store differs from its UUID at opening")
        }
      case MetadataKey.commitCounter, MetadataKey.epoch, MetadataKey.blobSerial, MetadataKey.catalog,
        MetadataKey.history, MetadataKey.layer, MetadataKey.withoutBranches:
        _ = try CounterValue(stored: copy value, seed: seed)
      case _ where name.hasPrefix("serial-"):
        _ = try CounterValue(stored: copy value, seed: seed)
      case _ where name.hasPrefix(StagingKey.prefix):
        let stager = try CounterValue(stored: copy value, seed: seed).value
        guard let serial = StagingKey.blobSerial(key), 1...UInt64(UInt16.max) ~= stager else {
          return run.report(.metadata, page: page(), "\(name) does not belong to a staged upload")
        }
        run.staged[serial] = stager
      case _ where name.hasPrefix("layout-"):
        let layout = try RecordLayout(stored: copy value, seed: seed)
        if MetadataKey.layout(layout.id) != name {
          run.report(.layout, page: page(), "\(name) describes a different layout")
        } else if let known = session.schema.layout(id: layout.id), known != layout {
          run.report(
            .layout, page: page(), "\(name) changed since the store was opened, but layouts are immutable")
        }
      default:
        _ = try ValueEnvelope.payload(of: copy value, seed: seed)
      }
    } catch {
      run.report(.metadata, page: page(), "\(name): \(error)")
    }
  }

  /// Checks that fields have the kinds of the entity's properties, which everything that reads a record relies on.
  private borrowing func checkLayouts(of entity: CompiledEntity, _ run: CheckRun) {
    var kinds: [UInt16: FieldKind] = [:]
    for attribute in entity.attributes where attribute.code != 0 {
      kinds[attribute.code] = FieldKind(storing: attribute.description.type)
      if attribute.field == nil, !entity.isAbstract {
        run.report(
          .layout, property: attribute.path,
          "\(attribute.path) is missing in the record layout of \(entity.name)")
      }
    }
    for relationship in entity.relationships { kinds[relationship.code] = relationship.isToMany ? .toMany : .toOne }
    for id in 0...session.schema.codes.lastLayout {
      guard let layout = session.schema.layout(id: id), layout.entityCode == entity.code else { continue }
      let isSound = layout.fields.allSatisfy { (kinds[$0.propertyCode] ?? $0.kind) == $0.kind }
      if isSound { continue }
      run.badLayouts.insert(id)
      run.report(.layout, "the field types of record layout \(id) of \(entity.name) differ from the model")
    }
    guard !entity.isAbstract else { return }
    if entity.layout.entityCode != entity.code || entity.layout.id != session.schema.codes.layouts[entity.name] {
      run.report(.layout, "the record layout of \(entity.name) belongs to another entity")
    }
  }

  /// Checks that a counter is above all assigned numbers.
  borrowing func checkCounter(_ name: String, above last: UInt64, _ what: String, _ run: CheckRun) throws(StoreError) {
    guard last > 0 else { return }
    let next: UInt64
    do throws(StoreError) {
      next = try session.counter(name)
    } catch {
      // Reported with the metadata.
      guard error.kind == .corrupted else { throw error }
      return
    }
    if next <= last {
      run.report(.counter, "the next serial number of \(what) is \(next), but \(last) already exists")
    }
  }
}
