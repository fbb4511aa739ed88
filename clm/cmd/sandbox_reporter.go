// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Reporter is the program's side of [Launch]. After Ready or Fail, and if the launching process is gone, reports are
// dropped. Its methods may be called from several goroutines.
type Reporter struct {
	mu   sync.Mutex
	pipe *os.File
}

// NewReporter fails if the program was not started by [Launch].
func NewReporter() (*Reporter, error) {
	pipe := os.NewFile(reportFD, "reports")
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.New("only clm itself runs this command")
	}
	closeOnExec(pipe)
	return &Reporter{pipe: pipe}, nil
}

// Write reports progress. It never fails.
func (r *Reporter) Write(text []byte) (int, error) {
	r.report(daemonMessage{Log: string(text)})
	return len(text), nil
}

// Ready lets Launch return without an error.
func (r *Reporter) Ready() { r.end(daemonMessage{Ready: true}) }

// Fail lets Launch return a [FailureError] with the error's text.
func (r *Reporter) Fail(err error, kind string) {
	r.end(daemonMessage{Error: fmt.Sprint(err), Kind: kind})
}

func (r *Reporter) end(last daemonMessage) {
	r.report(last)
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.pipe.Close()
}

func (r *Reporter) report(m daemonMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = json.NewEncoder(r.pipe).Encode(m)
}
