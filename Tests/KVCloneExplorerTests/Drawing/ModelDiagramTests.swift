import KVClone
import KVCloneDemo
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Models as diagrams: legible, complete, and equal for equal models.
@Suite(.bounded) struct ModelDiagramTests {
  @Test(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func modelsOfTheCorpusHaveNoOverlaps() throws {
    var count = 0
    for bundle in Corpus.modelBundles() {
      let versions = try ManagedObjectModel.loadVersions(contentsOf: bundle).map(\.model)
      for model in versions {
        let diagram = ModelDiagram(model)
        let problems = DiagramGeometry(diagram.layout, diagram.graph).problems
        #expect(problems.isEmpty, "\(bundle) \(model.versionIdentifier): \(problems.prefix(5))")
        expectFreeLabels(diagram)
        count += 1
      }
    }
    #expect(count > 20)
  }

  @Test(arguments: [1, 7, 30, 60, 80])
  func generatedModelsAreLegible(count: Int) {
    let diagram = ModelDiagram(Self.model(count))
    let problems = DiagramGeometry(diagram.layout, diagram.graph).problems
    #expect(problems.isEmpty, "\(problems.prefix(5))")
    expectFreeLabels(diagram)
    #expect(ModelDiagramSVG(diagram).text == ModelDiagramSVG(ModelDiagram(Self.model(count))).text)
  }

  @Test func everyRelationshipIsOneLineWithItsInverse() {
    let diagram = ModelDiagram(DemoModel.model)
    let pairs = diagram.lines.compactMap { line -> Set<String>? in
      guard case .relationship(let own, let inverse, _) = line else { return nil }
      return Set(([own] + (inverse.map { [$0] } ?? [])).map { "\($0.entity).\($0.relationship)" })
    }
    let all = DemoModel.model.entities.flatMap { entity in entity.relationships.map { "\(entity.name).\($0.name)" } }
    #expect(pairs.flatMap { $0 }.sorted() == all.sorted())
    #expect(pairs.allSatisfy { $0.count == 2 })
    #expect(pairs.contains(["Project.albums", "Album.project"]))
  }

  @Test func linesHaveTheColoursOfBothCloneRules() throws {
    let svg = ModelDiagramSVG(ModelDiagram(DemoModel.model)).text
    // A project's albums are followed, and an album's project is shared, as its inverse is to-many.
    let albums = try #require(
      svg.split(separator: "\n").first { $0.contains("<title>Project.albums ↔ Album.project</title>") })
    let colours = albums.matches(of: /class="wire (\w+)"/).map { String($0.1) }
    #expect(colours == ["follow", "share"])
    let job = try #require(svg.split(separator: "\n").first { $0.contains("<title>ExportJob.photo ↔ Photo.exportJob") })
    #expect(job.matches(of: /class="wire (\w+)"/).map { String($0.1) } == ["follow", "skip"])
    #expect(svg.contains("shareToken: String, optional; clone: excluded, nil (R15)"))
    #expect(svg.contains("id: UUID, required; clone: rebuilt uuid (R16)"))
  }

  @Test func rowsShowTypesCardinalitiesAndDeleteRules() {
    let diagram = ModelDiagram(DemoModel.model)
    let album = diagram.entities.first { $0.name == "Album" }
    #expect(album?.rows.map(\.name) == ["projectID", "title", "photos", "project"])
    #expect(album?.rows.map(\.detail) == ["UUID?", "String", "Photo", "Project"])
    #expect(album?.rows.map(\.rule) == ["", "", "ordered 0…n · cascade", "0…1 · nullify"])
  }

  @Test func relationshipsOfEveryShapeAreDrawn() {
    let diagram = ModelDiagram(randomModel)
    #expect(DiagramGeometry(diagram.layout, diagram.graph).problems == [])
    let titles = ModelDiagramSVG(diagram).text.matches(of: /<g><title>([^<]*)<\/title><path/).map { String($0.1) }
    // Its own inverse, an inverse in the same entity, without inverse, and subentities.
    for title in [
      "Person.spouse ↔ Person.spouse", "Person.reports ↔ Person.boss", "Person.idol → Named", "Subentities of Named",
    ] {
      #expect(titles.contains(title), "\(titles)")
    }
  }

  @Test func hostileNamesAreTexts() {
    let name = "<script>\"&'\u{202E}\u{0}"
    let model = ManagedObjectModel("M<\"") {
      EntityDescription(name) {
        AttributeDescription(name, .string, default: .string(name))
        RelationshipDescription("r" + name, toOne: name)
      }
    }
    let svg = ModelDiagramSVG(ModelDiagram(model)).text
    #expect(!svg.contains("<script") && !svg.contains("\u{202E}") && !svg.contains("\u{0}"))
    #expect(svg.contains("&lt;script&gt;"))
  }

  @Test func longNamesAreCutAndTheirCardinalityRemains() throws {
    let name = String(repeating: "Extraordinarily", count: 20)
    let model = ManagedObjectModel("Long") {
      EntityDescription(name) {
        AttributeDescription(name.lowercased(), .transformable)
        RelationshipDescription("other" + name, toMany: name, deleteRule: .cascade)
      }
    }
    let diagram = ModelDiagram(model)
    #expect(diagram.layout.boxes[0].width <= 380)
    let relationship = try #require(diagram.entities[0].rows.last)
    let texts = ModelDiagram.texts(of: relationship, width: diagram.layout.boxes[0].width)
    #expect(texts.name.hasSuffix("…") && texts.detail.hasSuffix("0…n · cascade"))
    expectFreeLabels(diagram)
  }

  @Test func anEmptyModelIsAnEmptyPicture() {
    let svg = ModelDiagramSVG(ModelDiagram(ManagedObjectModel(name: "Empty", entities: []))).text
    #expect(svg.contains("<svg") && svg.contains("<title id=\"model-title\">Empty</title>"))
  }

  /// Texts are inside boxes, and do not touch each other.
  private func expectFreeLabels(_ diagram: ModelDiagram, sourceLocation: SourceLocation = #_sourceLocation) {
    for (entity, box) in zip(diagram.entities, diagram.layout.boxes) {
      for row in entity.rows {
        let texts = ModelDiagram.texts(of: row, width: box.width)
        let end =
          Double(ModelDiagram.indentation) + TextWidth.estimate(texts.name, size: ModelDiagram.fontSize)
        let start =
          Double(box.width - ModelDiagram.rightPadding)
          - TextWidth.estimate(texts.detail, size: ModelDiagram.fontSize - 1)
        #expect(end + 4 < start, "\(entity.name).\(row.name)", sourceLocation: sourceLocation)
      }
      let rows = entity.rows.count * DiagramMetrics.rowHeight
      #expect(box.headHeight + rows <= box.height, sourceLocation: sourceLocation)
    }
  }

  /// A model with inheritance, relationships to itself, several between two entities, and entities without any.
  private static func model(_ count: Int) -> ManagedObjectModel {
    var random = KVCloneTestSupport.SeededGenerator(seed: UInt64(count))
    var entities = (0..<count).map { index in
      EntityDescription(
        name: "Entity\(index)", superentityName: index % 9 == 4 ? "Entity\(index - 1)" : nil,
        isAbstract: index % 9 == 3,
        attributes: (0..<Int.random(in: 0...8, using: &random)).map { place in
          AttributeDescription(
            "attribute\(index)x\(place)", AttributeType.allCases[place % 10], optional: place % 2 == 0)
        })
    }
    for link in 0..<(count + count / 2) {
      let one = Int.random(in: 0..<count, using: &random)
      let two = link % 7 == 0 ? one : Int.random(in: 0..<count, using: &random)
      let (to, back) = ("to\(link)", "back\(link)")
      entities[one].relationships.append(
        RelationshipDescription(
          to, toMany: "Entity\(two)", inverse: link % 5 == 0 ? nil : back,
          deleteRule: link % 3 == 0 ? .cascade : .nullify))
      if link % 5 == 0 { continue }
      entities[two].relationships.append(RelationshipDescription(back, toOne: "Entity\(one)", inverse: to))
    }
    return ManagedObjectModel(name: "Generated", entities: entities)
  }
}
