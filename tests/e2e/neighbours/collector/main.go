// SPDX-License-Identifier: Apache-2.0

// collector CONFIG: the OpenTelemetry Collector with its OTLP receiver, and an exporter "lines" that appends each batch of
// spans to a file, as a line of OTLP's JSON.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type linesConfig struct {
	Path string `mapstructure:"path"`
}

type lines struct {
	path string
	mu   sync.Mutex
}

func (*lines) Start(context.Context, component.Host) error { return nil }
func (*lines) Shutdown(context.Context) error              { return nil }
func (*lines) Capabilities() consumer.Capabilities         { return consumer.Capabilities{} }

func (l *lines) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(text, '\n')); err != nil {
		return err
	}
	return file.Close()
}

func factories() (otelcol.Factories, error) {
	otlp := otlpreceiver.NewFactory()
	kind := component.MustNewType("lines")
	toFile := exporter.NewFactory(kind, func() component.Config { return &linesConfig{} },
		exporter.WithTraces(func(_ context.Context, _ exporter.Settings, config component.Config) (exporter.Traces, error) {
			return &lines{path: config.(*linesConfig).Path}, nil
		}, component.StabilityLevelDevelopment))
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
		Exporters: map[component.Type]exporter.Factory{kind: toFile},
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: collector CONFIG")
		os.Exit(2)
	}
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "test"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"file:" + os.Args[1]},
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	if err == nil {
		err = collector.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
