// SPDX-License-Identifier: Apache-2.0

// upstream lists what berth takes word for word from the sources of a kube-scheduler: default plugins, feature gates,
// flags, metrics, and the texts of events and refusals. VERSION.txt is what has been seen and followed; the program
// compares it with the sources of the version that the oracle's modules name, which it parses and does not compile.
//
//	go run . 1.36          fails, and prints each line that is new or gone
//	go run . -write 1.36   writes 1.36.txt, once the differences are followed
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The parts of the sources, by module; k8s.io/kubernetes counts its versions from v1, the others from v0.
var (
	scheduler  = part{"k8s.io/kubernetes", "pkg/scheduler"}
	gateParts  = []part{{"k8s.io/kubernetes", "pkg/features/kube_features.go"}, {"k8s.io/apiserver", "pkg/features/kube_features.go"}, {"k8s.io/component-base", "logs/api/v1/kube_features.go"}, {"k8s.io/component-base", "metrics/features/kube_features.go"}, {"k8s.io/component-base", "zpages/features/kube_features.go"}}
	flagParts  = []part{{"k8s.io/kubernetes", "cmd/kube-scheduler/app/options"}, {"k8s.io/apiserver", "pkg/server/options/serving.go"}, {"k8s.io/apiserver", "pkg/server/options/authentication.go"}, {"k8s.io/apiserver", "pkg/server/options/authorization.go"}, {"k8s.io/component-base", "config/options"}, {"k8s.io/component-base", "logs/api/v1/options.go"}, {"k8s.io/component-base", "metrics/options.go"}, {"k8s.io/component-base", "compatibility/registry.go"}}
	textParts  = []part{scheduler, {"k8s.io/dynamic-resource-allocation", "structured"}}
	pluginPart = part{"k8s.io/kubernetes", "pkg/scheduler/apis/config/v1/default_plugins.go"}
)

type part struct{ module, path string }

var (
	flagMethod  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*VarP?$|^VarP?$`)
	textName    = regexp.MustCompile(`(?i)reason|message|msg$|^err`)
	leftOut     = regexp.MustCompile(`_test\.go$|/testing/|/testdata/|zz_generated|/mock`)
	versionName = regexp.MustCompile(`^1\.[0-9]{1,3}$`)
	spaces      = regexp.MustCompile(`\s+`)
)

func main() {
	write := flag.Bool("write", false, "write VERSION.txt")
	flag.Parse()
	if flag.NArg() != 1 || !versionName.MatchString(flag.Arg(0)) {
		fmt.Fprintln(os.Stderr, "usage: go run . [-write] VERSION, as in 1.36")
		os.Exit(2)
	}
	same, err := run(flag.Arg(0), *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run says whether the list of a version is that of its sources.
func run(version string, write bool) (bool, error) {
	release, err := pinned("../oracle", version)
	if err != nil {
		return false, err
	}
	found, err := list(func(module string) (string, error) { return fetch(module, release) })
	if err != nil {
		return false, err
	}
	name := version + ".txt"
	if write {
		return true, os.WriteFile(name, []byte(strings.Join(found, "\n")+"\n"), 0o644)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	differences := compare(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), found)
	if len(differences) == 0 {
		return true, nil
	}
	fmt.Printf("kube-scheduler %s is not what tests/differential/upstream/%s says that berth follows; docs/new-kubernetes-version.md says what to do:\n", release, name)
	for _, line := range differences {
		fmt.Println(" ", line)
	}
	return false, nil
}

// pinned is the whole version, as in v1.36.3, that the oracle's modules name.
func pinned(folder, version string) (string, error) {
	need := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v` + regexp.QuoteMeta(version) + `\.\S+)$`)
	for _, name := range []string{"kubernetes-" + version + ".mod", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		if match := need.FindSubmatch(text); match != nil {
			return string(match[1]), nil
		}
	}
	return "", fmt.Errorf("no oracle of Kubernetes %s", version)
}

// fetch is the folder of a module's sources.
func fetch(module, release string) (string, error) {
	if module != "k8s.io/kubernetes" {
		release = "v0" + strings.TrimPrefix(release, "v1")
	}
	command := exec.Command("go", "mod", "download", "-json", module+"@"+release)
	command.Dir = "/"
	out, runErr := command.Output()
	var answer struct{ Path, Version, Dir, Zip, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("%s %s: %w", module, release, cmpErr(runErr, err))
	}
	if answer.Dir == "" && strings.Contains(answer.Error, "requires go") {
		// A module for a newer Go is fetched and unpacked all the same; only its folder is not named.
		cache, _, _ := strings.Cut(answer.Zip, "/cache/download/")
		answer.Dir = filepath.Join(cache, answer.Path+"@"+answer.Version)
	}
	if answer.Dir == "" {
		return "", fmt.Errorf("%s %s: %s", module, release, answer.Error)
	}
	return answer.Dir, nil
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// list is everything that is compared, without order but for the default plugins'.
func list(folder func(module string) (string, error)) ([]string, error) {
	var out []string
	collect := func(parts []part, visit func(*token.FileSet, *ast.File) []string) error {
		for _, each := range parts {
			root, err := folder(each.module)
			if err != nil {
				return err
			}
			files, err := parse(filepath.Join(root, each.path))
			if err != nil {
				return err
			}
			for _, file := range files {
				out = append(out, visit(file.set, file.tree)...)
			}
		}
		return nil
	}
	for _, each := range []struct {
		parts []part
		visit func(*token.FileSet, *ast.File) []string
	}{
		{[]part{pluginPart}, plugins}, {gateParts, gates}, {flagParts, flags}, {[]part{scheduler}, metrics}, {textParts, texts},
	} {
		from := len(out)
		if err := collect(each.parts, each.visit); err != nil {
			return nil, err
		}
		if len(out) == from {
			return nil, fmt.Errorf("nothing is found in %v", each.parts)
		}
		if each.parts[0] != pluginPart {
			slices.Sort(out[from:])
			out = slices.Compact(out)
		}
	}
	return out, nil
}

type parsed struct {
	set  *token.FileSet
	tree *ast.File
}

// parse reads a file, or those of a folder and of the folders in it. A part that a version does not have is empty.
func parse(path string) ([]parsed, error) {
	var out []parsed
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) && name == path {
				return nil
			}
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || leftOut.MatchString(name) {
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, parsed{set, tree})
		return nil
	})
	return out, err
}

// source is a piece of code on one line, without comments.
func source(set *token.FileSet, node ast.Node) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, set, node); err != nil {
		return err.Error()
	}
	return spaces.ReplaceAllString(out.String(), " ")
}

// plugins are the default ones in their order, and what gates do to them.
func plugins(set *token.FileSet, file *ast.File) (out []string) {
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || (function.Name.Name != "getDefaultPlugins" && !strings.HasPrefix(function.Name.Name, "apply")) {
			continue
		}
		for _, statement := range function.Body.List {
			plain := true
			ast.Inspect(statement, func(node ast.Node) bool {
				literal, ok := node.(*ast.CompositeLit)
				if !ok {
					return true
				}
				text := source(set, literal)
				if !strings.Contains(text, "names.") || strings.Contains(text, "Enabled:") || strings.Contains(text, "},") {
					return true
				}
				out, plain = append(out, fmt.Sprintf("plugin %s: %s", function.Name.Name, strings.TrimPrefix(text, "v1.Plugin"))), false
				return false
			})
			if _, branches := statement.(*ast.IfStmt); branches && plain {
				out = append(out, "plugin "+function.Name.Name+": "+source(set, statement))
			}
		}
	}
	return out
}

// gates are the stages of each feature.
func gates(set *token.FileSet, file *ast.File) (out []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		stages, ok := pair.Value.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch stages.Elts = slices.DeleteFunc(stages.Elts, func(e ast.Expr) bool { _, ok := e.(*ast.BasicLit); return ok }); {
		case stages.Type == nil, strings.Contains(source(set, stages.Type), "FeatureSpec"):
			text := source(set, stages)
			if strings.Contains(text, "Default:") {
				out = append(out, fmt.Sprintf("gate %s: %s", source(set, pair.Key), short(text)))
				return false
			}
		}
		return true
	})
	return out
}

// short leaves out what all stages of gates have in common.
func short(text string) string {
	return strings.NewReplacer("LockToDefault: true", "locked", "version.MustParse(", "", "\")", "\"", "featuregate.", "", "Version: ", "", "Default: ", "", "PreRelease: ", "", ", }", "}", "{ {", "{{").Replace(text)
}

// flags are the names that are defined, and how.
func flags(set *token.FileSet, file *ast.File) (out []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !flagMethod.MatchString(method.Sel.Name) || len(call.Args) < 3 {
			return true
		}
		text := fmt.Sprintf("flag %s %s", source(set, call.Args[1]), method.Sel.Name)
		if len(call.Args) > 3 {
			text += " " + source(set, call.Args[2])
		}
		out = append(out, text)
		return true
	})
	return out
}

// metrics are the calls that make them, without their help.
func metrics(set *token.FileSet, file *ast.File) (out []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(method.Sel.Name, "New") || len(call.Args) == 0 {
			return true
		}
		options := call.Args[0]
		if unary, ok := options.(*ast.UnaryExpr); ok {
			options = unary.X
		}
		literal, ok := options.(*ast.CompositeLit)
		if !ok || literal.Type == nil || !strings.HasSuffix(source(set, literal.Type), "Opts") {
			return true
		}
		words := []string{"metric", method.Sel.Name}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && source(set, pair.Key) != "Help" {
				words = append(words, source(set, pair.Value))
			}
		}
		for _, argument := range call.Args[1:] {
			words = append(words, source(set, argument))
		}
		out = append(out, strings.Join(words, " "))
		return true
	})
	return out
}

// texts are those of events, statuses and errors, and those that are called reasons, messages or errors.
func texts(set *token.FileSet, file *ast.File) (out []string) {
	add := func(name string, value ast.Expr) {
		ast.Inspect(value, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if ok && literal.Kind == token.STRING && textName.MatchString(name) {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
					out = append(out, "text "+strconv.Quote(text))
				}
			}
			return true
		})
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if method, ok := node.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Eventf" && len(node.Args) > 3 {
				var words []string
				for _, argument := range node.Args[2:] {
					words = append(words, source(set, argument))
				}
				out = append(out, "event "+strings.Join(words, ", "))
			}
			switch source(set, node.Fun) {
			case "fwk.NewStatus", "framework.NewStatus", "fmt.Errorf", "errors.New":
				for _, argument := range node.Args {
					add("reason", argument)
				}
			}
		case *ast.ValueSpec:
			for i, name := range node.Names {
				if i < len(node.Values) {
					add(name.Name, node.Values[i])
				}
			}
		case *ast.AssignStmt:
			for i, name := range node.Lhs {
				if i < len(node.Rhs) {
					add(source(set, name), node.Rhs[i])
				}
			}
		}
		return true
	})
	return out
}

// compare marks the lines that are gone with - and those that are new with +.
func compare(seen, found []string) (out []string) {
	for _, line := range seen {
		if !slices.Contains(found, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range found {
		if !slices.Contains(seen, line) {
			out = append(out, "+ "+line)
		}
	}
	if len(out) == 0 && !slices.Equal(seen, found) {
		out = append(out, "the order is another")
	}
	return out
}
