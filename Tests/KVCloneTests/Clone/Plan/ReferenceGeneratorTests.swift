import Foundation
import KVCloneCoreData
import KVCloneModel
import KVCloneTestSupport
import Testing

/// The generator creates valid graphs, their text reads back equal, and the comparison detects differences.
struct ReferenceGeneratorTests {
  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func validForEveryModel() throws {
    for (bundle, version) in Corpus.allContents() {
      let loaded = try ManagedObjectModel.load(contentsOf: bundle, version: version)
      let model = ModelView(loaded.model)
      for entity in model.entities.values {
        for relationship in entity.relationships {
          let inverse = loaded.model.inverse(of: relationship.name, in: entity.name)
          #expect((inverse != nil) == relationship.hasInverse, "\(version) \(entity.name).\(relationship.name)")
        }
      }
      for seed in [UInt64(bundle.utf8.count % 3 + 1)] {
        let made = GraphGenerator.generate(model, seed: seed, size: 6)
        #expect(made.problems.isEmpty, "\(bundle) \(version), seed \(seed): \(made.problems.prefix(5))")
        let concrete = model.entities.values.filter { !$0.isAbstract }.map(\.name)
        #expect(Set(made.graph.counts.keys) == Set(concrete), "\(version), seed \(seed)")
        let read = try ReferenceGraph(ndjson: made.ndjson(model: model), model: model)
        let differences = GraphComparison.compareExactly(expected: made.graph, actual: read, model: model)
        #expect(differences.isEmpty, "\(bundle) \(version), seed \(seed): \(differences.prefix(5))")
      }
    }
  }

  /// Clones are valid, and objects that the clone does not report as affected are unchanged.
  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func clonesAreValidForEveryModel() throws {
    for (bundle, version) in Corpus.allContents() {
      let model = ModelView(try ManagedObjectModel.load(contentsOf: bundle, version: version).model)
      let made = GraphGenerator.generate(model, seed: 7, size: 3)
      for entity in model.entities.values where !entity.isAbstract {
        let roots = Array(made.graph.labels(of: entity.name).prefix(1))
        do throws(ReferenceCloneFailure) {
          let clone = try ReferenceCloner.clone(roots, in: made.graph, model: model)
          #expect(clone.after.validate(model) == [], "\(bundle) \(version) \(roots)")
          for (label, object) in made.graph.objects where clone.after[label] != object {
            #expect(clone.affectedObjectIDs.contains(label), "\(bundle) \(version) \(roots): \(label)")
          }
        } catch {
          let possible: Set = ["uniquenessConflict", "maxCountExceeded"]
          #expect(error.kinds.isSubset(of: possible), "\(bundle) \(version) \(roots): \(error.errors.prefix(3))")
        }
      }
    }
  }

  private func notes() throws -> ModelView {
    let path = try #require(Corpus.modelBundle("fatbobman__MOCloner/Model.xcdatamodeld"))
    return ModelView(try ManagedObjectModel.load(contentsOf: path).model)
  }

  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func longListsAndSharedTargets() throws {
    let model = try notes()
    let made = GraphGenerator.generate(model, seed: 4, size: 400)
    let lengths = made.graph.objects.values.flatMap { $0.relationships.values.map(\.count) }
    #expect(made.problems.isEmpty)
    #expect(lengths.contains { $0 > 128 })
    #expect(lengths.contains { $0 > 16 && $0 <= 128 })
    #expect(made.graph.objects.values.contains { $0.label.entity == "Note" && $0.targets("memos").isEmpty })
  }

  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)), arguments: [UInt64(1), 2, 3])
  func comparisonSeesOnlyDifferences(seed: UInt64) throws {
    let model = try notes()
    let made = GraphGenerator.generate(model, seed: seed, size: 12)
    let root = try #require(made.graph.labels(of: "Note").first)
    let clone = try ReferenceCloner.clone([root], in: made.graph, model: model)
    // A store that numbers the clones backwards, with values in place of symbolic ones.
    var (actual, names, values) = (ReferenceGraph(), [Label: Label](), [SymbolicValue: AttributeValue]())
    for label in clone.clones { names[label] = Label(label.entity, 1_000_000 - label.serial) }
    for var object in clone.after.objects.values {
      for (path, symbol) in clone.symbols[object.label] ?? [:] {
        let value = values[symbol] ?? (symbol == .now ? .date(Date()) : .uuid(UUID()))
        values[symbol] = value
        object.attributes[path] = value
      }
      object.label = names[object.label] ?? object.label
      object.relationships = object.relationships.mapValues { $0.map { names[$0] ?? $0 } }
      actual.objects[object.label] = object
    }
    func differences(_ graph: ReferenceGraph) -> [String] {
      GraphComparison.compare(expected: clone, actual: graph, model: model)
    }
    #expect(differences(actual).isEmpty, "seed \(seed): \(differences(actual))")
    let cloned = try #require(names[clone.roots[0][0]])
    var stale = actual
    stale.objects[cloned]?.attributes["id"] = made.graph[root]?.attributes["id"] ?? .uuid(UUID())
    var changed = actual
    changed.objects[root]?.attributes["name"] = "other"
    var missing = actual
    missing.objects[cloned] = nil
    #expect(!differences(changed).isEmpty && !differences(missing).isEmpty)
    #expect(made.graph[root]?.attributes["id"] == nil || !differences(stale).isEmpty)
    if let item = actual[cloned]?.targets("items").first {
      var unlinked = actual
      unlinked.remove(item, from: "items", of: cloned)
      #expect(!differences(unlinked).isEmpty)
    }
  }

  @Test func comparisonOfTwins() {
    let model = ModelView(
      ManagedObjectModel("Ring") { EntityDescription("Node") { RelationshipDescription("next", toOne: "Node") } })
    func rings(_ lengths: [Int], from first: Int) -> ReferenceGraph {
      var (graph, start) = (ReferenceGraph(), first)
      for length in lengths {
        for step in 0..<length {
          graph.add(Label("Node", start + step), [:], ["next": [Label("Node", start + (step + 1) % length)]])
        }
        start += length
      }
      return graph
    }
    let (small, large) = (rings([3, 5], from: 1), rings([5, 3], from: 10))
    #expect(GraphComparison.compare(expected: small, actual: large, model: model).isEmpty)
    #expect(!GraphComparison.compare(expected: small, actual: rings([4, 4], from: 10), model: model).isEmpty)
  }

  @Test func valuesSurviveTheirText() throws {
    let model = ModelView(
      ManagedObjectModel("Dates") { EntityDescription("Day") { AttributeDescription("at", .date) } })
    for text in ["2021-11-15T08:10:00.25Z", "1969-12-31T23:59:59.9Z", "2000-02-29T00:00:00Z", "0001-01-01T00:00:00Z"] {
      let line = #"{"attributes":{"at":"\#(text)"},"id":"Day/1"}"#
      let graph = try ReferenceGraph(ndjson: line, model: model)
      #expect(try graph.ndjson(model: model) == line + "\n")
    }
    let graph = try ReferenceGraph(
      ndjson: #"{"id":"Day/1","attributes":{"at":"2000-12-31T23:59:59.9Z"}}"#, model: model)
    #expect(graph["Day/1"]?.attributes == ["at": .date(Date(timeIntervalSinceReferenceDate: -0.1))])
  }
}
