// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command queue compares Slipway's priority workqueue with controller-runtime's priority queue and with client-go's
// workqueue, which is first in, first out. Each has its default configuration: with metrics, and ours also with aging
// and with fairness between namespaces. For each workload the command prints the CPU time of the other two queues
// relative to ours.
//
// Every measurement is a process of its own. The rounds of the queues are interleaved, and the tables show medians.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
)

// workload measures one implementation in a fresh process.
type workload func(implementation string) figures

func main() {
	rounds := flag.Int("rounds", 5, "measurements of each workload and queue")
	match := flag.String("match", "", "regular expression that selects workloads by name")
	one := flag.String("workload", "", "measure this workload in this process and print JSON")
	implementation := flag.String("queue", slipway, "the queue for -workload")
	flag.Parse()
	if err := run(*rounds, *match, *one, *implementation); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int, match, one, implementation string) error {
	if one != "" {
		i := slices.IndexFunc(cases, func(c testCase) bool { return c.name == one })
		if i < 0 {
			return fmt.Errorf("no workload %q", one)
		}
		return json.NewEncoder(os.Stdout).Encode(cases[i].run(implementation))
	}
	pattern, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	all := results{}
	for r := range rounds {
		for _, c := range cases {
			if !pattern.MatchString(c.name) {
				continue
			}
			for _, i := range implementations {
				fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d: %s, %s", r+1, rounds, c.name, i)
				f, err := measure(c.name, i)
				if err != nil {
					return err
				}
				all.record(c.name, i, f)
			}
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	all.print(os.Stdout, rounds)
	return nil
}

// measure runs one workload of one implementation in a process of its own.
func measure(name, implementation string) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := exec.Command(self, "-workload", name, "-queue", implementation)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("measuring %s of %s: %w", name, implementation, err)
	}
	f := figures{}
	if err := json.Unmarshal(out, &f); err != nil {
		return nil, fmt.Errorf("reading the figures of %s of %s: %w", name, implementation, err)
	}
	return f, nil
}
