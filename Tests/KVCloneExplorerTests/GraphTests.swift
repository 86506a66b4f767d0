import Foundation
import KVClone
import KVCloneDemo
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// The neighbourhood graph: bounded, stable, without overlaps, and the same in all formats.
@Suite(.bounded) struct GraphTests {
  private static let model = ManagedObjectModel("Graph") {
    EntityDescription("Folder") {
      AttributeDescription("name", .string)
      RelationshipDescription("notes", toMany: "Note", inverse: "folder", ordered: true)
      RelationshipDescription("parent", toOne: "Folder", inverse: "folders")
      RelationshipDescription("folders", toMany: "Folder", inverse: "parent")
      RelationshipDescription("itself", toOne: "Folder")
    }
    EntityDescription("Note") {
      AttributeDescription("name", .string)
      RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("notes", toMany: "Note", inverse: "tags")
    }
  }

  /// A folder with notes, each with tags of its own.
  private func fixture(notes: Int, tags: Int) throws -> TestStore {
    let fixture = try TestStore(Self.model)
    try fixture.store.write { transaction in
      let folder = try transaction.insert("Folder", ["name": "Top"])
      for note in 0..<notes {
        let id = try transaction.insert(
          "Note", ["name": .string("Note \(note)")], relationships: ["folder": [folder]])
        for tag in 0..<tags {
          _ = try transaction.insert("Tag", ["name": .string("Tag \(note).\(tag)")], relationships: ["notes": [id]])
        }
      }
    }
    return fixture
  }

  private func graph(_ store: ObjectStore, _ name: String, open: [String] = []) throws -> Neighbourhood {
    try store.read { transaction in
      try NeighbourhoodReader.read(try transaction.objectID(named: name), open: open, transaction)
    }
  }

  /// The angles of objects and of the nodes for the rest, by name.
  private func angles(_ graph: Neighbourhood) -> [String: Double] {
    var result: [String: Double] = [:]
    let layout = graph.layout
    for (index, node) in graph.first.enumerated() { result[node.name?.id ?? "rest"] = layout.first[index].angle }
    for (index, nodes) in graph.second.enumerated() {
      for (place, node) in nodes.enumerated() {
        result[node.name?.id ?? "rest of \(index)"] = layout.second[index][place].angle
      }
    }
    return result
  }

  @Test func objectsKeepTheirAnglesWhenOthersOpen() throws {
    let fixture = try fixture(notes: 40, tags: 9)
    let closed = try graph(fixture.store, "Folder/1")
    let states = [["Note/1"], ["Note/3", "Note/5"], ["Folder/1"], ["Folder/1", "Note/2"]]
    let before = angles(closed)
    #expect(before.count > 40)
    for open in states {
      let opened = try graph(fixture.store, "Folder/1", open: open)
      #expect(opened.nodes.count > closed.nodes.count, "\(open)")
      let after = angles(opened)
      for (name, angle) in before { #expect(after[name].map { abs($0 - angle) < 1e-9 } ?? false, "\(name) in \(open)") }
    }
  }

  @Test(arguments: [[], ["Note/1"], ["Folder/1"], ["Folder/1", "Note/1", "Note/2", "Note/3", "Note/4", "Note/5"]])
  func labelsDoNotOverlap(open: [String]) throws {
    let fixture = try fixture(notes: 40, tags: 30)
    let layout = try graph(fixture.store, "Folder/1", open: open).layout
    let labels = layout.first + layout.second.joined()
    #expect(labels.count > 40)
    for (place, one) in labels.enumerated() {
      for two in labels[(place + 1)...] { #expect(!Self.overlap(one, two), "\(one) \(two)") }
    }
    // The check finds what it looks for.
    #expect(Self.overlap(labels[0], labels[0].with(radius: labels[0].radius + 149)))
    #expect(!Self.overlap(labels[0], labels[0].with(radius: labels[0].radius + 151)))
  }

  @Test(arguments: [1, 2, 3, 5, 8, 13, 24, 40], [0, 1, 5])
  func layoutsOfAllSizesDoNotOverlap(count: Int, children: Int) {
    let layout = RadialLayout(
      .init(closed: count), Array(repeating: .init(closed: children, extra: children > 1 ? 10 : 0), count: count))
    let labels = layout.first + layout.second.joined()
    for (place, one) in labels.enumerated() {
      for two in labels[(place + 1)...] { #expect(!Self.overlap(one, two)) }
    }
    #expect(labels.allSatisfy { $0.radius >= RadialLayout.centre })
  }

  @Test func theNumberOfNodesIsBoundedAndTheRestIsCounted() throws {
    let fixture = try fixture(notes: 300, tags: 40)
    let graph = try graph(fixture.store, "Folder/1")
    #expect(graph.nodes.count <= 80)
    let rest = graph.first.filter { $0.name == nil }
    #expect(rest.map(\.hiddenCount) == [300 - graph.first.count + 1])
    let opened = try self.graph(
      fixture.store, "Folder/1", open: ["Folder/1"] + (1...9).map { "Note/\($0)" })
    #expect(opened.open.count == NeighbourhoodReader.maximumOpenCount)
    #expect(opened.nodes.count < 140)
    #expect(opened.first.count { $0.name != nil } + opened.first.reduce(0) { $0 + $1.hiddenCount } == 300)
  }

  @Test func neighboursAreByRelationshipThenInTheirOrder() throws {
    let fixture = try TestStore(Self.model)
    try fixture.store.write { transaction in
      let top = try transaction.insert("Folder", ["name": "Top"])
      let notes = try (0..<3).map { try transaction.insert("Note", ["name": .string("N\($0)")]) }
      _ = try transaction.insert("Folder", ["name": "Child"], relationships: ["parent": [top]])
      try transaction.setMembers(top, "notes", notes.reversed())
      try transaction.setToOne(top, "itself", top)
    }
    let graph = try graph(fixture.store, "Folder/1")
    #expect(graph.first.map(\.relationship) == ["folders", "notes", "notes", "notes"])
    #expect(graph.first.compactMap { $0.name?.id } == ["Folder/2", "Note/3", "Note/2", "Note/1"])
    // An object that is shown already is a link; the way back is not shown again.
    #expect(graph.links == [Neighbourhood.Link(from: "Folder/1", to: "Folder/1", relationship: "itself")])
    #expect(graph.second.flatMap { $0 }.isEmpty)
  }

  @Test func formatsHaveTheSameNodesAndEdges() async throws {
    let fixture = try fixture(notes: 3, tags: 2)
    let client = ExplorerClient(fixture.store)
    let html = await client.send("GET", "/graph/Folder/1")
    #expect(html.status == 200)
    let json = await client.send("GET", "/graph/Folder/1.json")
    let document = try #require(try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
    let nodes = try #require(document["nodes"] as? [[String: Any]])
    let edges = try #require(document["edges"] as? [[String: String]])
    #expect(nodes.count == 10 && edges.count == 9)
    #expect(nodes.map { $0["distance"] as? Int } == [0, 1, 2, 2, 1, 2, 2, 1, 2, 2])
    #expect(edges[0] == ["from": "Folder/1", "to": "Note/1", "relationship": "notes"])
    let csv = await client.send("GET", "/graph/Folder/1.csv").text.split(separator: "\n")
    #expect(csv.first == "from,relationship,to,name" && csv.count == 10)
    #expect(csv.contains("Note/1,tags,Tag/1,Tag 0.0"))
    // Every object is in the drawing and in the list.
    for node in nodes {
      let id = try #require(node["id"] as? String)
      #expect(html.text.components(separatedBy: "\(id)<").count > 1, "\(id)")
    }
  }

  @Test func nodesForTheRestOpenTheirObjects() async throws {
    let fixture = try fixture(notes: 30, tags: 9)
    let client = ExplorerClient(fixture.store)
    let closed = await client.send("GET", "/graph/Folder/1").text
    #expect(closed.contains("/graph/Folder/1?open=Folder%2F1") && closed.contains("/graph/Folder/1?open=Note%2F1"))
    let opened = await client.send("GET", "/graph/Folder/1?open=Note%2F1").text
    #expect(opened.contains("Close Note/1") && opened.contains("?open=Note%2F1&amp;open=Note%2F2"))
  }

  @Test func missingObjectsAndHostileNamesAreHandled() async throws {
    let fixture = try fixture(notes: 1, tags: 0)
    try await fixture.store.write { transaction in
      let id = try transaction.objectID(named: "Note/1")
      try transaction.set(id, "name", .string("<script>\u{202E}" + String(repeating: "x", count: 100_000)))
    }
    let client = ExplorerClient(fixture.store)
    let html = await client.send("GET", "/graph/Folder/1")
    #expect(html.status == 200 && !html.text.contains("<script>\u{202E}") && html.text.utf8.count < 50_000)
    for path in ["/graph/Folder/99", "/graph/Nothing/1", "/graph/Note/1x"] {
      #expect((400...404).contains(await client.send("GET", path).status), "\(path)")
    }
    #expect(await client.send("GET", "/graph/Folder/1?open=%3Cb%3E&open=Note%2F77").status == 200)
  }

  @Test func snapshotsShowTheNeighboursOfTheirTime() async throws {
    let fixture = try fixture(notes: 2, tags: 0)
    try await fixture.store.createSnapshot(named: "before")
    try await fixture.store.write { transaction in try transaction.delete(try transaction.objectID(named: "Note/2")) }
    let client = ExplorerClient(fixture.store)
    #expect(!(await client.send("GET", "/graph/Folder/1").text.contains("Note/2")))
    let past = await client.send("GET", "/graph/Folder/1?at=before").text
    #expect(past.contains("Note/2") && past.contains("/objects/Note/2?at=before"))
  }

  @Test func referencesWithoutAnInverseAreShownFromBothEnds() async throws {
    let fixture = try TestStore(Self.model)
    try await fixture.store.write { transaction in
      let target = try transaction.insert("Folder", ["name": "Target"])
      let other = try transaction.insert("Folder", ["name": "Other"])
      try transaction.setToOne(target, "itself", other)
      for number in 0..<40 {
        let id = try transaction.insert("Folder", ["name": .string("F\(number)")])
        try transaction.setToOne(id, "itself", target)
      }
    }
    let closed = try graph(fixture.store, "Folder/1")
    #expect(closed.first.first?.name?.id == "Folder/2" && closed.first.first?.isIncoming == false)
    let incoming = closed.first.filter(\.isIncoming)
    #expect(incoming.allSatisfy { $0.relationship == "Folder.itself" } && incoming.last?.name == nil)
    #expect(incoming.count { $0.name != nil } + incoming.reduce(0) { $0 + $1.hiddenCount } == 40)
    // The way back is not shown again, from either end.
    #expect(closed.second.flatMap { $0 }.isEmpty && closed.links.isEmpty)
    let json = try await ExplorerClient(fixture.store).json("/graph/Folder/1")
    let edges = try #require(json["edges"] as? [[String: String]])
    #expect(edges.contains(["from": "Folder/1", "to": "Folder/2", "relationship": "itself"]))
    #expect(edges.contains(["from": "Folder/3", "to": "Folder/1", "relationship": "itself"]))
    let page = await ExplorerClient(fixture.store).page("/graph/Folder/1")
    #expect(page.contains("← Folder.itself") && page.contains("refers by Folder.itself to Folder/1"))
    // From the referring object, the target is a neighbour, and the others that refer to it are at two steps.
    let other = try graph(fixture.store, "Folder/3")
    #expect(other.first.compactMap { $0.name?.id } == ["Folder/1"])
    #expect(other.second[0].contains { $0.name?.id == "Folder/2" && !$0.isIncoming })
    #expect(other.second[0].contains { $0.name?.id == "Folder/4" && $0.isIncoming })
    #expect(!other.second[0].contains { $0.name?.id == "Folder/3" })
  }

  @Test func anObjectWithoutNeighboursHasAnEmptyState() async throws {
    let fixture = try fixture(notes: 0, tags: 0)
    #expect(await ExplorerClient(fixture.store).send("GET", "/graph/Folder/1").text.contains("has no relationships"))
  }

  /// Whether two labels have a point in common, by the axes of both rectangles.
  private static func overlap(_ one: RadialLayout.Label, _ two: RadialLayout.Label) -> Bool {
    let corners = [one, two].map(\.corners)
    for label in [one, two] {
      for angle in [label.angle, label.angle + .pi / 2] {
        let ranges = corners.map { corners in
          let values = corners.map { $0.x * cos(angle) + $0.y * sin(angle) }
          return (low: values.min() ?? 0, high: values.max() ?? 0)
        }
        if ranges[0].high <= ranges[1].low || ranges[1].high <= ranges[0].low { return false }
      }
    }
    return true
  }
}

extension RadialLayout.Label {
  fileprivate var corners: [(x: Double, y: Double)] {
    [0, RadialLayout.labelLength].flatMap { distance in
      [-0.5, 0.5].map { side in
        let (x, y) = point(distance)
        let offset = side * RadialLayout.labelHeight
        return (x - sin(angle) * offset, y + cos(angle) * offset)
      }
    }
  }

  fileprivate func with(radius: Double) -> Self {
    var label = self
    label.radius = radius
    return label
  }
}
