/// Routes of the style sheet and the script.
enum AssetRoutes {
  static let all: [Route] = [
    .get("/assets/explorer.css") { _ in .response(ExplorerResponse("text/css; charset=utf-8", Stylesheet.text)) },
    .get("/assets/explorer.js") { _ in .response(ExplorerResponse("text/javascript; charset=utf-8", Script.text)) },
  ]
}
