// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// maker makes expressions of a wanted type at random. Most are well typed; a few are not, on purpose.
type maker struct {
	*rand.Rand
	variables []string // of int type, bound around the expression
}

func (m *maker) pick(options ...string) string { return options[m.IntN(len(options))] }

func (m *maker) attribute(id string) string {
	switch m.IntN(8) {
	case 0:
		return `device.attributes["dra.example.com"]["` + id + `"]`
	case 1:
		return `device.attributes["other.example.com"].` + id
	case 2:
		return `device.attributes["no-such-domain"].` + id
	case 3:
		return `device.attributes[device.driver].` + id
	case 4:
		return `cel.bind(dra, device.attributes["dra.example.com"], dra.` + id + `)`
	default:
		return `device.attributes["dra.example.com"].` + id
	}
}

func (m *maker) capacity() string {
	return m.pick(`device.capacity["dra.example.com"].memory`, `device.capacity["dra.example.com"].cores`,
		`device.capacity["dra.example.com"]["missing"]`, `quantity("1Gi")`, `quantity("1500m")`, `quantity("10k")`,
		`quantity("1x")`, `device.capacity["dra.example.com"][?"memory"].orValue(quantity("0"))`,
		`quantity("1").add(quantity("500m"))`, `quantity("2Ki").sub(24)`)
}

func (m *maker) version() string {
	return m.pick(m.attribute("version"), `semver("1.2.3")`, `semver("1.2.3-alpha.1")`, `semver("v1.2", true)`, `semver("01.2.3")`)
}

func (m *maker) int(depth int) string {
	if depth <= 0 {
		if len(m.variables) > 0 && m.IntN(2) == 0 {
			return m.variables[m.IntN(len(m.variables))]
		}
		return m.pick("0", "1", "2", "-7", "9223372036854775807", m.attribute("int"), "int(device.attributes[\"dra.example.com\"].int)")
	}
	switch m.IntN(13) {
	case 0:
		return "(" + m.int(depth-1) + m.pick(" + ", " - ", " * ", " / ", " % ") + m.int(depth-1) + ")"
	case 1:
		return "size(" + m.list(depth-1) + ")"
	case 2:
		return m.string(depth-1) + ".size()"
	case 3:
		return m.string(depth-1) + ".indexOf(" + m.string(depth-1) + ")"
	case 4:
		return "(" + m.bool(depth-1) + " ? " + m.int(depth-1) + " : " + m.int(depth-1) + ")"
	case 5:
		return m.list(depth-1) + "[" + m.int(depth-1) + "]"
	case 6:
		return m.list(depth-1) + m.pick(".sum()", ".max()", ".min()", ".indexOf(1)", ".lastIndexOf(2)")
	case 7:
		return m.capacity() + m.pick(".asInteger()", ".compareTo(quantity(\"1Gi\"))")
	case 8:
		return m.version() + m.pick(".major()", ".minor()", ".patch()", ".compareTo(semver(\"1.0.0\"))")
	case 9:
		return "cel.bind(v, " + m.int(depth-1) + ", v + " + m.int(depth-1) + ")"
	case 10:
		return m.list(depth-1) + "[?" + m.int(depth-1) + "].orValue(" + m.int(depth-1) + ")"
	case 11:
		return "int(" + m.pick(m.string(depth-1), "2.9", "7u", `"12"`) + ")"
	default:
		return "-" + m.pick("1", "(2)", m.attribute("int"))
	}
}

func (m *maker) string(depth int) string {
	if depth <= 0 {
		return m.pick(`"fish"`, `""`, `"a,b,c"`, `"Grün"`, `r"\d+"`, `'it\'s'`, "device.driver", m.attribute("string"), `"x" + "y"`)
	}
	switch m.IntN(9) {
	case 0:
		return m.string(depth-1) + m.pick(".lowerAscii()", ".upperAscii()", ".trim()", ".substring(1)", ".charAt(0)", ".replace(\"s\", \"ss\")")
	case 1:
		return "(" + m.string(depth-1) + " + " + m.string(depth-1) + ")"
	case 2:
		return "string(" + m.int(depth-1) + ")"
	case 3:
		return m.string(depth-1) + `.split(",").join("-")`
	case 4:
		return m.string(depth-1) + ".substring(" + m.int(0) + ", " + m.int(0) + ")"
	case 5:
		return m.string(depth-1) + `.find("[a-z]+")`
	case 6:
		return "(" + m.bool(depth-1) + " ? " + m.string(depth-1) + " : " + m.string(depth-1) + ")"
	case 7:
		return "device.attributes[?" + m.string(0) + "][?\"string\"].orValue(\"none\")"
	default:
		return "string(" + m.pick("true", "1.5", "2u", `b"abc"`, "1000000.0") + ")"
	}
}

func (m *maker) list(depth int) string {
	if depth <= 0 {
		return m.pick("[1, 2, 3]", "[]", "[3, 1, 2, 1]", "[device.attributes[\"dra.example.com\"].int, 5]", "lists.range(4)")
	}
	switch m.IntN(8) {
	case 0:
		return "(" + m.list(depth-1) + " + " + m.list(depth-1) + ")"
	case 1:
		return m.list(depth-1) + ".filter(x, " + m.with("x", func() string { return m.bool(depth - 1) }) + ")"
	case 2:
		return m.list(depth-1) + ".map(x, " + m.with("x", func() string { return m.int(depth - 1) }) + ")"
	case 3:
		return m.list(depth-1) + m.pick(".sort()", ".distinct()", ".reverse()", ".slice(0, 1)")
	case 4:
		return "[" + m.int(depth-1) + ", " + m.int(depth-1) + "]"
	case 5:
		return m.list(depth-1) + ".transformList(i, x, " + m.with("x", func() string { return m.int(depth - 1) }) + ")"
	case 6:
		return "[" + m.list(depth-1) + ", " + m.list(depth-1) + "].flatten()"
	default:
		return "[?optional.of(" + m.int(depth-1) + "), ?optional.none()]"
	}
}

func (m *maker) with(variable string, make func() string) string {
	m.variables = append(m.variables, variable)
	defer func() { m.variables = m.variables[:len(m.variables)-1] }()
	return make()
}

func (m *maker) bool(depth int) string {
	if depth <= 0 {
		return m.pick("true", "false", "device.allowMultipleAllocations", m.attribute("bool"), `"dra.example.com" in device.attributes`,
			`has(device.attributes["dra.example.com"].int)`, `"memory" in device.capacity["dra.example.com"]`)
	}
	switch m.IntN(18) {
	case 0, 1:
		return "(" + m.bool(depth-1) + m.pick(" && ", " || ") + m.bool(depth-1) + ")"
	case 2:
		return m.int(depth-1) + m.pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + m.int(depth-1)
	case 3:
		return m.string(depth-1) + m.pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + m.string(depth-1)
	case 4:
		return m.string(depth-1) + m.pick(".startsWith(", ".endsWith(", ".contains(", ".matches(") + m.string(depth-1) + ")"
	case 5:
		return m.capacity() + m.pick(".isGreaterThan(", ".isLessThan(") + m.capacity() + ")"
	case 6:
		return m.version() + m.pick(".isGreaterThan(", ".isLessThan(") + m.version() + ")"
	case 7:
		return "!(" + m.bool(depth-1) + ")"
	case 8:
		return m.list(depth-1) + m.pick(".all(x, ", ".exists(x, ", ".exists_one(x, ") + m.with("x", func() string { return m.bool(depth - 1) }) + ")"
	case 9:
		return m.int(depth-1) + " in " + m.list(depth-1)
	case 10:
		return m.list(depth-1) + m.pick(" == ", " != ") + m.list(depth-1)
	case 11:
		return "(" + m.bool(depth-1) + " ? " + m.bool(depth-1) + " : " + m.bool(depth-1) + ")"
	case 12:
		return m.attribute(m.pick("bool", "int", "string", "version", "missing"))
	case 13:
		return "dyn(" + m.pick(m.int(depth-1), m.string(depth-1), m.list(depth-1)) + ") == " + m.pick("1", "1.0", `"fish"`, "[1]")
	case 14:
		return "cel.bind(b, " + m.bool(depth-1) + ", b || " + m.bool(depth-1) + ")"
	case 15:
		return "optional.of(" + m.int(depth-1) + ").optMap(y, y + 1).hasValue()"
	case 16:
		return m.pick("sets.contains(", "sets.intersects(", "sets.equivalent(") + m.list(depth-1) + ", " + m.list(depth-1) + ")"
	default:
		return m.pick(m.int(depth-1), m.string(depth-1), m.list(depth-1)) + " == " + m.pick(m.int(depth-1), m.string(depth-1))
	}
}

// theDevice is what generated expressions look at.
func theDevice() *Device {
	return &Device{
		Driver:                   "dra.example.com",
		AllowMultipleAllocations: ptr.To(true),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"int":                      {IntValue: ptr.To(int64(3))},
			"bool":                     {BoolValue: ptr.To(true)},
			"string":                   {StringValue: ptr.To("fish")},
			"version":                  {VersionValue: ptr.To("1.2.3")},
			"other.example.com/int":    {IntValue: ptr.To(int64(-1))},
			"other.example.com/string": {StringValue: ptr.To("Grün")},
			"other.example.com/bool":   {BoolValue: ptr.To(false)},
		},
		Capacity: map[resourceapi.QualifiedName]string{"memory": "1Gi", "cores": "4"},
	}
}

func generateCases(seed uint64, count int) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 2))}
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	write := func(c Case) {
		if err := output.Encode(&c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	write(Case{Device: theDevice()})
	for made := 0; made < count; {
		if expression := m.bool(1 + m.IntN(3)); len(expression) <= 400 {
			write(Case{Expression: expression})
			made++
		}
	}
}
