import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The repair of one side of a link that the other side does not confirm.
private enum LinkRemedy {
  /// Adds the missing other side.
  case complete(ObjectID, CompiledRelationship)
  /// Adds the other side in place of a less certain link, which is removed.
  case replace(ObjectID, CompiledRelationship, instead: ObjectID)
  /// Removes the link.
  case cut(ObjectID, LinkFault)
  /// Removes an entry that was not a link.
  case forget(ObjectID)
  /// Adds the referrer to the target's hidden list.
  case note(ObjectID)
}

/// Why a link is removed. A list may have a million such links, so the message is created on removal.
private enum LinkFault {
  case lost
  case otherEntity
  case oneSided
  /// The other side can have one link, and has this one.
  case taken(ObjectID)
}

/// Restores consistency between both sides of each link.
///
/// A link that one side has is kept, unless the other side is complete and this one may be outdated. If both may be, it
/// is kept.
struct LinkMend: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  mutating func mend(_ id: ObjectID, _ run: SalvageRun) throws(StoreError) {
    let entity = try session.entity(of: id)
    for relationship in entity.relationships {
      let remedies = try remedies(id, relationship, run)
      for remedy in remedies { try apply(remedy, id, relationship, entity, run) }
    }
  }

  private borrowing func remedies(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ run: SalvageRun
  ) throws(StoreError) -> [LinkRemedy] {
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    var remedies: [LinkRemedy] = []
    try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
      if let remedy = try remedy(id, relationship, member, run) { remedies.append(remedy) }
      return true
    }
    return remedies
  }

  private borrowing func remedy(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ member: ObjectID, _ run: SalvageRun
  ) throws(StoreError) -> LinkRemedy? {
    guard let view = try session.record(member) else {
      return .cut(member, .lost)
    }
    let other = try session.schema.entity(of: view, id: member)
    guard other.isKind(of: relationship.destinationCode) else {
      return .cut(member, .otherEntity)
    }
    if !relationship.hasInverse { return .note(member) }
    guard let inverse = other.inverse(of: relationship),
      let field = other.field(inverse.field, code: inverse.code, in: view)
    else { return nil }
    if try has(id, member, inverse, field, view) { return nil }
    let isUnsure = run.isDoubtful(id, relationship)
    let isOtherUnsure = run.isDoubtful(member, inverse) || run.isBroken(session.address(member, inverse.code))
    if isUnsure, !isOtherUnsure {
      // An outdated chunk of a list does not prove a loss.
      if run.hasDoubtfulLists(id) { return .forget(member) }
      return .cut(member, .oneSided)
    }
    guard !inverse.isToMany, let current = view.toOne(field), try session.exists(current) else {
      return .complete(member, inverse)
    }
    if isOtherUnsure, !isUnsure { return .replace(member, inverse, instead: current) }
    return .cut(member, .taken(current))
  }

  private borrowing func reason(_ fault: LinkFault, _ member: ObjectID) throws(StoreError) -> String {
    switch fault {
    case .lost: "its target \(session.schema.rootName(of: member)) is lost"
    case .otherEntity: "its target \(try session.name(of: member)) has another entity"
    case .oneSided: "its target \(try session.name(of: member)) has no link back"
    case .taken(let other):
      "its target \(try session.name(of: member)) links to \(try session.name(of: other)) and can have one link only"
    }
  }

  private borrowing func has(
    _ id: ObjectID, _ owner: ObjectID, _ relationship: CompiledRelationship, _ field: Int, _ view: borrowing RecordView
  ) throws(StoreError) -> Bool {
    guard relationship.isToMany else { return view.toOne(field) == id }
    let head = view.head(field)
    guard head.isChunked else { return view.inlineIDs(field).firstIndex(of: id) != nil }
    let list = session.address(owner, relationship.code)
    if relationship.isOrdered { return try session.storage.containsOrdered(list, id, head: head) }
    return try session.storage.containsUnordered(list, id)
  }

  private mutating func apply(
    _ remedy: LinkRemedy, _ id: ObjectID, _ relationship: CompiledRelationship, _ entity: CompiledEntity,
    _ run: SalvageRun
  ) throws(StoreError) {
    switch remedy {
    case .note(let member):
      _ = try session.storage.insertUnordered(session.address(member, relationship.inverseCode), id)
    case .forget(let member):
      _ = try session.detach(id, relationship.code, member)
    case .cut(let member, let fault):
      let reason = try reason(fault, member)
      _ = try session.detach(id, relationship.code, member)
      let left = relationship.isToMany ? try session.count(id, relationship.name) : 0
      let description = relationship.description
      run.lose(
        .link, object: "\(entity.name)/\(id.serial)", property: relationship.name,
        breaksRule: relationship.isToMany ? left < description.minCount : !description.isOptional, reason)
    case .complete(let member, let inverse):
      // A to-one may refer to a lost object.
      if !inverse.isToMany, let gone = try session.toOne(member, inverse) {
        _ = try session.detach(member, inverse.code, gone)
        try loseLink(member, inverse, "its target \(session.schema.rootName(of: gone)) is lost", run)
      }
      if try session.attach(member, inverse.code, id) { run.noteFound(session.address(member, inverse.code)) }
    case .replace(let member, let inverse, let former):
      _ = try session.detach(member, inverse.code, former)
      _ = try session.detach(former, relationship.code, member)
      try loseLink(
        member, inverse,
        "its link to \(try session.name(of: former)) was replaced by the more reliable one to "
          + "\(try session.name(of: id))",
        run)
      _ = try session.attach(member, inverse.code, id)
    }
  }

  /// Removes a link that is replaced by another.
  private borrowing func loseLink(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ reason: String, _ run: SalvageRun
  ) throws(StoreError) {
    let entity = try session.entity(of: id)
    run.lose(
      .link, object: "\(entity.name)/\(id.serial)", property: relationship.name, reason)
  }
}
