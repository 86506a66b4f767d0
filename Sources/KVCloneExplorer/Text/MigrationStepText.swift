package import KVClone

extension MigrationPlan.Step {
  /// The removals, possible renames, and the alternative to a refused step.
  package var notes: [String] {
    var notes = removals.map { removal in
      "removes \(removal.entity) (\(Text.count(removal.objectCount, "object")))"
        + (removal.links.isEmpty ? "" : " and the links to its objects: \(removal.links.joined(separator: ", "))")
    }
    notes += warnings.map { "warning: \($0)" }
    if let chain {
      let losses = chain.losses.map { loss in
        "\([loss.entity, loss.property].compactMap { $0 }.joined(separator: ".")) (in \(loss.version))"
      }
      notes.append(
        "no single step can be inferred, but one step per version can (\(chain.versions.joined(separator: " → "))): "
          + "migrate version by version with --to; this loses \(losses.isEmpty ? "nothing" : losses.joined(separator: ", "))"
      )
    }
    return notes
  }

  /// The work in a few words.
  package var summary: String {
    switch kind {
    case .metadata: "no object changes"
    case .indexes: "indexes are built"
    case .refused: "cannot be inferred"
    case .mapping:
      "\(Text.count(rewrittenCount, "object")) read by the mapping model"
        + (deletedCount > 0 ? ", \(Text.count(deletedCount, "object")) deleted" : "")
    case .objects where rewrittenCount + movedCount + deletedCount == 0: "no object is rewritten, but links may be"
    case .objects:
      [
        (rewrittenCount - joinedCount, "rewritten"), (joinedCount, "rewritten together with a later step"),
        (movedCount, "moved"), (deletedCount, "deleted"),
      ]
      .filter { $0.0 > 0 }.map { "\(Text.count($0.0, "object")) \($0.1)" }.joined(separator: ", ")
    }
  }
}

extension JSONWriter {
  /// Writes the member `steps` of a plan.
  package mutating func steps(of plan: MigrationPlan) {
    list("steps", plan.steps) { json, step in
      json.member("from", step.from)
      json.member("to", step.to)
      json.member("kind", step.kind.rawValue)
      json.member("rewritten", step.rewrittenCount)
      json.member("joined", step.joinedCount)
      json.member("moved", step.movedCount)
      json.member("deleted", step.deletedCount)
      json.member("bytes", step.byteCount)
      json.nullable("mappingSkeleton", step.mappingSkeleton)
      json.list("changes", step.changes) { $0.change($1) }
      json.notes(of: step)
    }
  }

  private mutating func notes(of step: MigrationPlan.Step) {
    warnings(step.warnings)
    list("removals", step.removals) { json, removal in
      json.member("entity", removal.entity)
      json.member("objects", removal.objectCount)
      json.member("links", removal.links)
    }
    guard let chain = step.chain else { return }
    key("chain")
    beginObject()
    member("versions", chain.versions)
    list("losses", chain.losses) { json, loss in
      json.member("version", loss.version)
      json.member("entity", loss.entity)
      json.nullable("property", loss.property)
    }
    endObject()
  }
}
