import KVCloneCore
import KVCloneModel

/// The attributes of objects that both sides have, element by element (M1, M5).
extension MergeRun {
  /// The values of an object in the four states.
  private struct Values {
    /// Whether the object has no base, so that there are no differences to add.
    let isNew: Bool
    let oursBase: [AttributeValue?]
    let ours: [AttributeValue?]
    let theirsBase: [AttributeValue?]
    let theirs: [AttributeValue?]
  }

  func mergeAttributes() throws {
    try forEachShared { id, entity in
      try step()
      let mine = try ours.now.values(of: id, entity)
      let values = Values(
        isNew: try theirs.base(of: id).entity(of: id) == nil,
        oursBase: try ours.changed.contains(id) ? baseValues(of: id, entity, ours) : mine, ours: mine,
        theirsBase: try baseValues(of: id, entity, theirs), theirs: try theirs.now.values(of: id, entity))
      for (index, attribute) in entity.attributes.enumerated() where attribute.isMerged {
        try merge(index, attribute, of: id, entity, values)
      }
    }
  }

  private func baseValues(of id: ObjectID, _ entity: CompiledEntity, _ states: MergeSideStates) throws
    -> [AttributeValue?]
  {
    guard try states.base.entity(of: id) != nil else {
      return Array(repeating: nil, count: entity.attributes.count)
    }
    return try states.base.values(of: id, entity)
  }

  private func merge(
    _ index: Int, _ attribute: CompiledAttribute, of id: ObjectID, _ entity: CompiledEntity, _ values: Values
  ) throws {
    let (mine, others) = (values.ours[index], values.theirs[index])
    if try areSame(values.theirsBase[index], in: theirs.base, others, in: theirs.now) { return }
    let isChanged = try !areSame(values.oursBase[index], in: ours.base(of: id), mine, in: ours.now)
    let areSame = try areSame(mine, in: ours.now, others, in: theirs.now)
    let rule = book.rule(of: attribute.path, entity)
    var merge = ValueMerge(changed: (isChanged, true), areSame: areSame, rule: rule)
    if let rule, isChanged, rule == .sum && !values.isNew || rule == .max && !areSame {
      let computed = NumberMerge.merge(
        rule, oursBase: values.oursBase[index], ours: mine, theirsBase: values.theirsBase[index], theirs: others,
        type: attribute.description.type)
      if let computed { return try setAttribute(index, of: id, to: computed, insteadOf: mine) }
      merge = .conflict
    }
    switch merge {
    case .ours: return
    case .theirs: try setAttribute(index, of: id, to: others, insteadOf: mine)
    case .conflict: try resolve(index, attribute, of: id, entity, values)
    }
  }

  private func resolve(
    _ index: Int, _ attribute: CompiledAttribute, of id: ObjectID, _ entity: CompiledEntity, _ values: Values
  ) throws {
    let (base, mine, others) = (values.oursBase[index], values.ours[index], values.theirs[index])
    var fingerprint = ConflictFingerprint()
    try fingerprint.add(base, in: ours.base(of: id))
    try fingerprint.add(mine, in: ours.now)
    try fingerprint.add(others, in: theirs.now)
    let conflict = try conflict(
      .bothChanged, id, entity, property: attribute.path, base: .attribute(base), ours: .attribute(mine),
      theirs: .attribute(others), fingerprint: fingerprint)
    switch try resolver.answer(conflict, side: book.side(of: attribute.path, entity)) {
    case .side(.ours): return
    case .side(.theirs): try setAttribute(index, of: id, to: others, insteadOf: mine)
    case .attribute(let value):
      let value = try accepted(value, attribute, among: [base, mine, others], conflict)
      try setAttribute(index, of: id, to: value, insteadOf: mine)
    default: try undecidedPlaces.insert(PropertyPlace(owner: id, code: attribute.code))
    }
  }

  /// Returns the value of an answer, converted to the attribute's type. A blob has to be one of the conflict.
  private func accepted(
    _ value: AttributeValue?, _ attribute: CompiledAttribute, among known: [AttributeValue?], _ conflict: ObjectConflict
  ) throws -> AttributeValue? {
    guard let value else { return nil }
    if known.contains(value) { return value }
    if case .blob = value {
      throw conflict.invalidAnswer("the blob is none of the conflict; choose a side, or give the bytes")
    }
    guard let accepted = attribute.description.type.coerce(value) else {
      throw conflict.invalidAnswer(
        "the value is not of the type \(attribute.description.type.rawValue); give one of this type, or choose a side")
    }
    return accepted
  }

  func setAttribute(
    _ index: Int, of id: ObjectID, to value: AttributeValue?, insteadOf present: AttributeValue?
  ) throws(StoreError) {
    if value != present { try attributes.set(index, of: id, to: value) }
  }
}
