import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A step of the stream for the record of every object of an entity.
struct CloneStep {
  enum Kind: UInt8 {
    /// A rebuilt UUID.
    case uuid
    /// The operation's `now`.
    case now
    /// Sets an attribute of fixed width to nil.
    case null
    case toOne
    case list
    /// A variable value that may be a blob.
    case blob
  }

  let kind: Kind
  var mode = CloneRuleBook.LinkMode.follow
  /// The place of an attribute.
  var place: RecordPlace?
  /// The offset of a relationship's slot, or of a variable value's end offset.
  var offset = 0
  /// The attribute's or the relationship's code.
  var code: UInt16 = 0
  /// The relationship's index in the entity's plan.
  var relationship = 0
  var isOrdered = false
  var inverseIsOrdered = false
  var inverseCode: UInt16 = 0
}

/// The steps of a clone for the records of one concrete entity, compiled once: at fixed offsets, without names,
/// descriptions, reference counts or allocations.
struct CloneProgram {
  let layout: RecordLayout
  let entityCode: UInt16
  let table: StorageTable
  let steps: UnsafeBufferPointer<CloneStep>
  /// Whether the steps suffice. Otherwise the record takes the general path: values that depend on the object's parent,
  /// links that have to be processed one by one, defaults of variable length.
  let isDirect: Bool
  let hasIndexes: Bool
  let hasReferrers: Bool
  let hasDerived: Bool
}

/// The programs of a rule book, by entity code.
final class ClonePrograms: @unchecked Sendable {
  private let programs: UnsafeMutableBufferPointer<CloneProgram>
  /// The index of the program by entity code, or −1.
  private let indexes: UnsafeMutableBufferPointer<Int32>

  init(_ plans: [CloneRuleBook.EntityPlan?], _ options: CloneOptions) {
    let compiled = plans.compactMap { $0 }.map { Self.compile($0, options) }
    programs = .allocate(capacity: compiled.count)
    _ = programs.initialize(from: compiled)
    indexes = .allocate(capacity: plans.count)
    indexes.initialize(repeating: -1)
    for (index, program) in compiled.enumerated() { indexes[Int(program.entityCode)] = Int32(index) }
  }

  deinit {
    for program in programs { program.steps.deallocate() }
    programs.deallocate()
    indexes.deallocate()
  }

  /// The program for records of this entity and layout; nil if they take the general path.
  @inline(__always)
  func direct(entity: UInt16, layout: UInt16) -> UnsafePointer<CloneProgram>? {
    guard Int(entity) < indexes.count, let base = programs.baseAddress else { return nil }
    let index = indexes[Int(entity)]
    guard index >= 0 else { return nil }
    let program = UnsafePointer(base + Int(index))
    return program.pointee.isDirect && program.pointee.layout.id == layout ? program : nil
  }

  private static func compile(_ plan: CloneRuleBook.EntityPlan, _ options: CloneOptions) -> CloneProgram {
    let entity = plan.entity
    let layout = entity.layout
    // With R10, lists of sources change while they are read: process them one by one.
    var isDirect = options.references == .remap && options.willClone == nil
    var steps: [CloneStep] = []
    for operation in plan.operations {
      switch operation {
      case .uuid(let field, let code):
        steps.append(CloneStep(kind: .uuid, place: RecordPlace(layout, field: field), code: code))
      case .now(let field):
        steps.append(CloneStep(kind: .now, place: RecordPlace(layout, field: field)))
      case .set(let field, nil) where !layout.kind(field).isVariable && layout.kind(field).hasNullBit:
        steps.append(CloneStep(kind: .null, place: RecordPlace(layout, field: field)))
      case .set, .compute: isDirect = false
      }
    }
    // In the order of fields, because the ids of inline lists are stored in that order.
    let relationships = plan.relationships.enumerated().sorted {
      $0.element.relationship.field < $1.element.relationship.field
    }
    for (index, plan) in relationships {
      let relationship = plan.relationship
      if plan.mode == .dynamic || plan.mode == .keep { isDirect = false }
      steps.append(
        CloneStep(
          kind: relationship.isToMany ? .list : .toOne, mode: plan.mode, offset: layout.offset(relationship.field),
          code: relationship.code, relationship: index, isOrdered: relationship.isOrdered,
          inverseIsOrdered: relationship.inverseIsOrdered,
          inverseCode: relationship.inverseCode))
    }
    for field in layout.variableFields where layout.kind(field).mayBeBlob {
      steps.append(CloneStep(kind: .blob, offset: layout.offset(field)))
    }
    if options.blobs == .copy, steps.contains(where: { $0.kind == .blob }) { isDirect = false }
    let memory = UnsafeMutableBufferPointer<CloneStep>.allocate(capacity: steps.count)
    _ = memory.initialize(from: steps)
    return CloneProgram(
      layout: layout, entityCode: entity.code, table: entity.table, steps: UnsafeBufferPointer(memory),
      isDirect: isDirect, hasIndexes: entity.hasIndexes, hasReferrers: !entity.referrerCodes.isEmpty,
      hasDerived: entity.attributes.contains { $0.description.isDerived })
  }
}
