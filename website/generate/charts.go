// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
)

// results is what "make bench" writes.
type results struct {
	Date, Commit string
	Cores        int
	Figures      []struct {
		Case, What string
		Ratio      float64
		Bar        *struct {
			On    string
			Value float64
		}
	}
}

// A chart has a horizontal bar for each figure that is measured in relation to a limit.
type chart struct {
	Title, Limit string
	Commit, Date string
	Cores, Width int
	Bars         []bar
}

// A bar shows a ratio; Goal is the ratio that is not to be exceeded.
type bar struct {
	Name        string
	Ratio, Goal float64
}

// Dimensions of a chart, in units of its picture. One unit of a ratio is scale wide.
const (
	names = 370
	scale = 170
	row   = 34
	head  = 44
)

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

// writeCharts draws the ratios of the last run of the benchmark.
func writeCharts(source, folder string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var run results
	if err := json.Unmarshal(content, &run); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	bare := &chart{Title: "Time in relation to a bare client", Limit: "bare client"}
	helm := &chart{Title: "clm in relation to Helm", Limit: "the better of Helm 3 and Helm 4"}
	for _, figure := range run.Figures {
		if figure.Bar == nil || figure.Bar.On != "ratio" {
			continue
		}
		drawn := bar{Name: figure.What, Ratio: figure.Ratio, Goal: figure.Bar.Value}
		if figure.Case == "charts" {
			helm.Bars = append(helm.Bars, drawn)
		} else {
			drawn.Name = figure.Case + ": " + drawn.Name
			bare.Bars = append(bare.Bars, drawn)
		}
	}
	return errors.Join(bare.write(run, filepath.Join(folder, "chart-engine.svg")), helm.write(run, filepath.Join(folder, "chart-helm.svg")))
}

func (c *chart) write(run results, path string) error {
	if len(c.Bars) == 0 {
		return fmt.Errorf("there is nothing to draw in %s", path)
	}
	c.Commit, c.Cores, c.Date, c.Width = run.Commit, run.Cores, run.Date[:len("2006-01-02")], names+2*scale+120
	var picture bytes.Buffer
	if err := chartTemplate.Execute(&picture, c); err != nil {
		return err
	}
	return write(path, picture.Bytes())
}
