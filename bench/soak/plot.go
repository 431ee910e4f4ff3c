// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

const (
	plotWidth   = 760
	plotLeft    = 64
	plotRight   = 150
	panelHeight = 120
	panelGap    = 44
	plotTop     = 52
)

type line struct {
	name, colour string
	of           func(Sample) float64
}

type panel struct {
	title string
	lines []line
}

var panels = []panel{
	{"resident memory, MiB", []line{{"scheduler", "#326ce5", func(s Sample) float64 { return s.RSSMiB }}}},
	{"file descriptors and threads", []line{
		{"descriptors", "#0f9d58", func(s Sample) float64 { return float64(s.FDs) }},
		{"threads", "#b45f06", func(s Sample) float64 { return float64(s.Threads) }}}},
	{"from the creation of a pod to its binding, ms", []line{
		{"p99", "#c62828", func(s Sample) float64 { return s.P99 }},
		{"p50", "#7b3fb5", func(s Sample) float64 { return s.P50 }}}},
}

// The next of 1, 2, 5 times a power of ten that is not below the value.
func niceCeiling(value float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(math.Max(value, 1))))
	for _, step := range []float64{1, 2, 5, 10} {
		if step*power >= value {
			return step * power
		}
	}
	return 10 * power
}

func drawPlot(samples []Sample, path string) error {
	if len(samples) == 0 {
		return fmt.Errorf("nothing to draw")
	}
	height := plotTop + len(panels)*(panelHeight+panelGap)
	last := samples[len(samples)-1]
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, height)
	fmt.Fprintf(&out, `<text x="%d" y="22" font-size="15" font-weight="bold" fill="#202124">%.0f minutes, %.0f pods a second, `+
		`%d faults</text>`+"\n", plotLeft, last.Seconds/60, float64(last.Created)/last.Seconds, last.Faults)
	x := func(s Sample) float64 { return plotLeft + s.Seconds/last.Seconds*(plotWidth-plotLeft-plotRight) }
	for i, p := range panels {
		top := float64(plotTop + i*(panelHeight+panelGap))
		most := 0.0
		for _, s := range samples {
			for _, l := range p.lines {
				most = math.Max(most, l.of(s))
			}
		}
		most = niceCeiling(most)
		fmt.Fprintf(&out, `<text x="%d" y="%.0f" fill="#202124">%s</text>`+"\n", plotLeft, top-6, p.title)
		for _, part := range []float64{0, 0.5, 1} {
			y := top + panelHeight*(1-part)
			fmt.Fprintf(&out, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#e0e0e0"/>`+"\n", plotLeft, y,
				plotWidth-plotRight, y)
			fmt.Fprintf(&out, `<text x="%d" y="%.1f" text-anchor="end" fill="#5f6368">%g</text>`+"\n", plotLeft-6, y+4, most*part)
		}
		for n, l := range p.lines {
			var points []string
			for _, s := range samples {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(s), top+panelHeight*(1-l.of(s)/most)))
			}
			fmt.Fprintf(&out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n",
				strings.Join(points, " "), l.colour)
			fmt.Fprintf(&out, `<text x="%d" y="%.0f" fill="%s">%s: %.0f</text>`+"\n", plotWidth-plotRight+10,
				top+14+float64(n)*18, l.colour, l.name, l.of(last))
		}
		fmt.Fprintf(&out, `<text x="%d" y="%.0f" text-anchor="end" fill="#5f6368">%.0f min</text>`+"\n", plotWidth-plotRight,
			top+panelHeight+16, last.Seconds/60)
	}
	out.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(out.String()), 0o644)
}
