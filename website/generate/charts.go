// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// result matches a row of the page "Performance" with a bar for a ratio: case, figure, ratio and bar.
var result = regexp.MustCompile(`(?m)^\| ([\w-]+) \| ([^|]+) \|[^|]*\|[^|]*\|[^|]*\| ([\d.]+) \| <= ([\d.]+) x, `)

// A chart has a horizontal bar for each figure that is measured in relation to a limit.
type chart struct {
	Title, Limit string
	Bars         []bar
}

// A bar shows a ratio; Goal is the ratio that is not to be exceeded.
type bar struct {
	Name        string
	Ratio, Goal float64
}

// Dimensions of a chart, in units of its picture. One unit of a ratio is scale wide.
const (
	names = 410
	scale = 170
	row   = 34
	head  = 44
)

func (c *chart) Width() int               { return names + 2*scale + 120 }
func (c *chart) Height() int              { return head + row*len(c.Bars) + 34 }
func (c *chart) Y(i int) int              { return head + row*i }
func (c *chart) X(ratio float64) float64  { return names + ratio*scale }
func (c *chart) Length(r float64) float64 { return min(r, 2.3) * scale }
func (b bar) IsMissed() bool              { return b.Ratio > b.Goal }

// The colors are those of the page, in which the picture stands.
//
//go:embed chart.svg.tmpl
var drawing string

var chartTemplate = template.Must(template.New("chart").Parse(drawing))

// writeCharts draws the ratios of the page "Performance".
func writeCharts(source, folder string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	bare := &chart{Title: "Time in relation to a bare client", Limit: "bare client"}
	helm := &chart{Title: "clm in relation to Helm", Limit: "the better of Helm 3 and Helm 4"}
	for _, row := range result.FindAllStringSubmatch(string(content), -1) {
		ratio, err := strconv.ParseFloat(row[3], 64)
		goal, goalErr := strconv.ParseFloat(row[4], 64)
		if err := errors.Join(err, goalErr); err != nil {
			return fmt.Errorf("%s: %q: %w", source, row[0], err)
		}
		if row[1] == "charts" {
			helm.Bars = append(helm.Bars, bar{row[2], ratio, goal})
		} else {
			bare.Bars = append(bare.Bars, bar{row[1] + ": " + row[2], ratio, goal})
		}
	}
	return errors.Join(bare.write(filepath.Join(folder, "chart-engine.svg")), helm.write(filepath.Join(folder, "chart-helm.svg")))
}

func (c *chart) write(path string) error {
	if len(c.Bars) == 0 {
		return fmt.Errorf("there is nothing to draw in %s", path)
	}
	var picture bytes.Buffer
	if err := chartTemplate.Execute(&picture, c); err != nil {
		return err
	}
	return write(path, picture.Bytes())
}
