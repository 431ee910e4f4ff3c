// SPDX-License-Identifier: Apache-2.0
// The answers of upstream's DRA selector package, for berth's own CEL evaluator to be compared with.
//
//	{ cat cases.jsonl; go run . -generate 400; } | go run . > answers.jsonl
//	go run . -declarations
//
// Each input line is a case: an expression, a device and the feature gates. The answer repeats it and adds what upstream
// said: "compileError", or "error" or "match", and the runtime cost. A line without an expression gives the device of the
// cases behind it that have none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// Device is the input of one case, in the words of the resource.k8s.io API.
type Device struct {
	Driver                   string                                                    `json:"driver,omitempty"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations,omitempty"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes,omitempty"`
	Capacity                 map[resourceapi.QualifiedName]string                      `json:"capacity,omitempty"`
}

// Case is a line of input and, with the answer filled in, a line of output.
type Case struct {
	Expression         string  `json:"expression,omitempty"`
	Device             *Device `json:"device,omitempty"`
	ListTypeAttributes bool    `json:"listTypeAttributes,omitempty"`
	CostLimit          *uint64 `json:"costLimit,omitempty"`

	CompileError string  `json:"compileError,omitempty"`
	Error        string  `json:"error,omitempty"`
	Match        *bool   `json:"match,omitempty"`
	Cost         *uint64 `json:"cost,omitempty"`
}

func answer(c *Case, standard *Device) {
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: c.ListTypeAttributes})
	result := compiler.CompileCELExpression(c.Expression, dracel.Options{CostLimit: c.CostLimit, DisableCostEstimation: true})
	if result.Error != nil {
		c.CompileError = result.Error.Detail
		return
	}
	device := dracel.Device{
		Attributes: make(map[resourceapi.QualifiedName]resourceapi.DeviceAttribute),
		Capacity:   make(map[resourceapi.QualifiedName]resourceapi.DeviceCapacity),
	}
	given := c.Device
	if given == nil {
		given = standard
	}
	if given != nil {
		device.Driver = given.Driver
		device.AllowMultipleAllocations = given.AllowMultipleAllocations
		device.Attributes = given.Attributes
		for name, value := range given.Capacity {
			device.Capacity[name] = resourceapi.DeviceCapacity{Value: resource.MustParse(value)}
		}
	}
	match, details, err := result.DeviceMatches(context.Background(), device)
	if details != nil {
		c.Cost = details.ActualCost()
	}
	if err != nil {
		c.Error = err.Error()
		return
	}
	c.Match = &match
}

func typeText(t *cel.Type) string {
	if len(t.Parameters()) == 0 {
		return t.TypeName()
	}
	var parameters []string
	for _, p := range t.Parameters() {
		parameters = append(parameters, typeText(p))
	}
	return t.TypeName() + "(" + strings.Join(parameters, ",") + ")"
}

func signature(o *decls.OverloadDecl) string {
	var arguments []string
	for _, a := range o.ArgTypes() {
		arguments = append(arguments, typeText(a))
	}
	style := ""
	if o.IsMemberFunction() {
		style = "."
	}
	return fmt.Sprintf("%s %s(%s) %s", o.ID(), style, strings.Join(arguments, ","), typeText(o.ResultType()))
}

// printDeclarations lists what the environment declares, one overload a line in its order.
func printDeclarations() {
	result := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true}).CompileCELExpression("true", dracel.Options{})
	functions := result.Environment.Functions()
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if functions[name].IsDeclarationDisabled() {
			continue
		}
		for _, overload := range functions[name].OverloadDecls() {
			fmt.Println(name, signature(overload))
		}
	}
	for _, macro := range result.Environment.Macros() {
		fmt.Println("macro", macro.MacroKey())
	}
	for _, v := range result.Environment.Variables() {
		fmt.Println("variable", v.Name(), typeText(v.Type()))
	}
}

func main() {
	generate := flag.Uint64("generate", 0, "print that many generated cases instead of answering")
	seed := flag.Uint64("seed", 1, "of -generate")
	declarations := flag.Bool("declarations", false, "list the environment's functions, macros and variables")
	flag.Parse()
	if *declarations {
		printDeclarations()
		return
	}
	if *generate > 0 {
		generateCases(*seed, int(*generate))
		return
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	var standard *Device
	for input.Scan() {
		if len(input.Bytes()) == 0 {
			continue
		}
		var c Case
		if err := json.Unmarshal(input.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if c.Expression == "" {
			standard = c.Device
		} else {
			answer(&c, standard)
		}
		if err := output.Encode(&c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
