import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The parts of a record that are moved or removed.
struct RecordLeftovers {
  /// Members of relationships that are now stored in another place.
  var lists: [(to: CompiledRelationship, from: UInt16, members: Members)] = []
  /// Blobs of attributes that the entity no longer has.
  var blobs: [BlobReference] = []
  /// Values that cannot be converted. The record lacks them.
  var refusals: [StoreError] = []

  enum Members {
    case inline([ObjectID])
    /// In `links`.
    case chunked(count: Int)
  }
}

/// The migration of one layout's records: a ``RecordMigration`` with resolved fields. Created once for all of these
/// records.
final class RecordProgram {
  private enum Action {
    case convert(from: Int, to: Int, AttributeConversion, path: String)
    /// No value of records in the layout has an equal.
    case refuse(AttributeConversion, path: String)
    case set(Int, AttributeValue?)
    case fill(Int, AttributeValue)
    case complete(Int, AttributeValue, siblings: [Int])
    case clear(CompiledRelationship)
    case move(from: Int, code: UInt16, wasToMany: Bool, to: CompiledRelationship)
  }

  /// The layout of the records.
  let source: RecordLayout
  private let entity: CompiledEntity
  /// Nil if the records have the entity's layout.
  private let conversion: LayoutConversion?
  private let actions: [Action]
  /// Whether the record always has to be written.
  private let isUnconditional: Bool
  /// Fields of the source with blobs that are no longer referenced.
  private let lostBlobs: [Int]

  init(_ migration: RecordMigration, for source: RecordLayout) {
    self.source = source
    entity = migration.entity
    let layout = entity.layout
    conversion = source == layout ? nil : LayoutConversion(from: source, to: layout)
    var actions: [Action] = []
    var isUnconditional = conversion != nil
    var taken: Set<UInt16> = []
    var renewed: Set<UInt16> = []
    if let conversion {
      let missing = Set(conversion.missing)
      for attribute in entity.attributes {
        // The records are older than the attribute.
        guard let field = attribute.field, missing.contains(field), let value = attribute.fill else { continue }
        actions.append(.set(field, value))
      }
    }
    for step in migration.steps {
      switch step {
      case .convert(let from, let to, let conversion, let path):
        // A record that was written with the new layout has been converted already.
        guard let field = layout.fieldIndex(ofProperty: to), source.fieldIndex(ofProperty: to) == nil else { continue }
        taken.insert(from)
        if let old = source.fieldIndex(ofProperty: from) {
          actions.append(.convert(from: old, to: field, conversion, path: path))
        } else if let value = migration.fills[from] {
          let converted = conversion.convert(value)
          actions.append(converted == nil ? .refuse(conversion, path: path) : .set(field, converted))
        } else {
          actions.append(.set(field, nil))
        }
      case .fill(let code, let value):
        if let field = layout.fieldIndex(ofProperty: code) { actions.append(.fill(field, value)) }
      case .complete(let code, let value, let siblings):
        guard let field = layout.fieldIndex(ofProperty: code) else { continue }
        actions.append(.complete(field, value, siblings: siblings.compactMap { layout.fieldIndex(ofProperty: $0) }))
      case .renew(let code, let value):
        guard let field = layout.fieldIndex(ofProperty: code) else { continue }
        renewed.insert(code)
        isUnconditional = true
        actions.append(.set(field, value))
      case .clear(let relationship):
        if source.fieldIndex(ofProperty: relationship.code) == nil { continue }
        isUnconditional = true
        actions.append(.clear(relationship))
      case .move(let from, let wasToMany, let relationship):
        guard let old = source.fieldIndex(ofProperty: from) else { continue }
        actions.append(.move(from: old, code: from, wasToMany: wasToMany, to: relationship))
      }
    }
    self.actions = actions
    self.isUnconditional = isUnconditional
    lostBlobs = (0..<source.fieldCount).filter { field in
      let code = source[field].propertyCode
      return source.kind(field).mayBeBlob
        && (renewed.contains(code) || layout.fieldIndex(ofProperty: code) == nil && !taken.contains(code))
    }
  }

  /// Converts a record to the new version in `buffer`; returns its commit, or nil if nothing has to be written.
  func run(
    _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema, into buffer: inout RecordBuffer,
    _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    if let conversion {
      do throws(RecordError) { try buffer.convert(view, by: conversion) } catch { throw schema.corrupted(id, error) }
    } else {
      buffer.load(view)
    }
    var isChanged = isUnconditional
    for action in actions {
      if try act(action, view, id, schema, &buffer, &leftovers) { isChanged = true }
    }
    guard isChanged else { return nil }
    for field in lostBlobs where !view.isNull(field) {
      if let blob = view.blobReference(field) { leftovers.blobs.append(blob) }
    }
    return view.commit
  }

  /// Whether the action requires writing the record.
  private func act(
    _ action: Action, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema, _ buffer: inout RecordBuffer,
    _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> Bool {
    switch action {
    case .convert(let old, let field, let conversion, let path):
      let value: AttributeValue?
      do throws(RecordError) { value = try view.value(old) } catch { throw schema.corrupted(id, error, view.layout) }
      if case .integer(let number)? = value, entity.layout.kind(field) == .decimal {
        buffer.setDecimal(field, integer: number)
        return false
      }
      let converted = value.flatMap(conversion.convert)
      if value != nil, converted == nil {
        leftovers.refusals.append(schema.notConvertible(id, entity, path, conversion))
      }
      try set(&buffer, field, converted, id, schema)
      return false
    case .refuse(let conversion, let path):
      leftovers.refusals.append(schema.notConvertible(id, entity, path, conversion))
      return false
    case .set(let field, let value):
      try set(&buffer, field, value, id, schema)
      return false
    case .fill(let field, let value):
      guard buffer.view.isNull(field) else { return false }
      try set(&buffer, field, value, id, schema)
      return true
    case .complete(let field, let value, let siblings):
      guard buffer.view.isNull(field) else { return false }
      var isThere = false
      for sibling in siblings where !buffer.view.isNull(sibling) { isThere = true }
      if !isThere { return false }
      try set(&buffer, field, value, id, schema)
      return true
    case .clear(let relationship):
      if relationship.isToMany {
        do throws(RecordError) { try buffer.setInlineIDs(relationship.field, []) } catch {
          throw schema.corrupted(id, error)
        }
      } else {
        buffer.setToOne(relationship.field, nil)
      }
      return true
    case .move(let old, let code, let wasToMany, let relationship):
      if !wasToMany {
        guard let target = view.toOne(old) else { return false }
        if relationship.isToMany {
          leftovers.lists.append((relationship, code, .inline([target])))
        } else {
          buffer.setToOne(relationship.field, target)
        }
        return false
      }
      let head = view.head(old)
      if head.isChunked {
        leftovers.lists.append((relationship, code, .chunked(count: head.count)))
      } else if head.count > 0 {
        leftovers.lists.append((relationship, code, .inline(view.inlineIDs(old).array)))
      }
      return false
    }
  }

  private func set(
    _ buffer: inout RecordBuffer, _ field: Int, _ value: AttributeValue?, _ id: ObjectID, _ schema: Schema
  ) throws(StoreError) {
    do throws(RecordError) {
      try buffer.set(field, value)
    } catch {
      throw StoreError(
        .limitExceeded, "\(schema.rootName(of: id)) cannot be stored in the new version of the model: \(error)",
        object: schema.rootName(of: id))
    }
  }
}

/// The migrations of one entity's records, in order.
package final class RecordChain {
  let migrations: [RecordMigration]
  /// For each migration, one for each occurring layout: few.
  private var programs: [[RecordProgram]]

  init(_ migrations: [RecordMigration]) {
    self.migrations = migrations
    programs = Array(repeating: [], count: migrations.count)
  }

  /// Only converts to an entity's current layout.
  convenience init(layoutOf entity: CompiledEntity) { self.init([RecordMigration(layoutOf: entity)]) }

  private func program(_ index: Int, for layout: RecordLayout) -> RecordProgram {
    for program in programs[index] where program.source == layout { return program }
    let program = RecordProgram(migrations[index], for: layout)
    programs[index].append(program)
    return program
  }

  /// Converts a record to the last version in `buffer`; returns its commit, or nil if nothing has to be written.
  ///
  /// - Parameter spare: a buffer for intermediate versions.
  func run(
    _ bytes: RawSpan, _ id: ObjectID, _ schema: Schema, into buffer: inout RecordBuffer, _ spare: inout RecordBuffer,
    _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    var commit: UInt64?
    for index in migrations.indices {
      if commit == nil {
        let view = try schema.view(of: bytes, id: id)
        commit = try program(index, for: view.layout).run(view, id, schema, into: &buffer, &leftovers)
        continue
      }
      // The output of a step is the input of the next one, as if it had been stored in between.
      swap(&buffer, &spare)
      let program = program(index, for: spare.layout)
      if try program.run(spare.view, id, schema, into: &buffer, &leftovers) == nil { swap(&buffer, &spare) }
    }
    return commit
  }
}

extension Schema {
  fileprivate func notConvertible(
    _ id: ObjectID, _ entity: CompiledEntity, _ path: String, _ conversion: AttributeConversion
  ) -> StoreError {
    StoreError(
      .notConvertible,
      "\(path) of \(entity.name)/\(id.serial) has a value without a \(conversion.destination.rawValue) equivalent; "
        + "change the value first, or migrate with a mapping model", entity: entity.name, property: path,
      object: "\(entity.name)/\(id.serial)")
  }
}
