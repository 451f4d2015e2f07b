// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// A session takes its settings from Zenoh's own files and variables.
func Example_open() {
	c, err := config.FromEnv(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Connect.Endpoints = []string{"tcp/192.0.2.1:7447"}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := zenoh.Open(ctx, c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(context.Background())
	fmt.Println("connected to", s.Info().Remote)
}

func ExampleSession_Subscribe() {
	var s *zenoh.Session // from Open
	ctx := context.Background()
	sub, err := s.Subscribe("robot/*/camera", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Ring: 1}})
	if err != nil {
		return
	}
	defer sub.Close()
	for sample := range sub.All(ctx) {
		fmt.Println(sample.Key, len(sample.Payload))
		sample.Release() // its memory is used again
	}
}

func ExamplePublisher_Put() {
	var p *zenoh.Publisher // from Session.Publisher
	frame := make([]byte, 6<<20)
	free := make(chan []byte, 1)
	// The frame leaves out of this memory; it may be filled again once
	// Release was called.
	err := p.Put(context.Background(), frame, &zenoh.PutOptions{Release: func() { free <- frame }})
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleSession_Get() {
	var s *zenoh.Session // from Open
	ctx := context.Background()
	replies, err := s.Get(ctx, "camd/1/**?verbose=true", &zenoh.GetOptions{Timeout: time.Second})
	if err != nil {
		return
	}
	for r := range replies.All(ctx) {
		if r.Err != nil {
			fmt.Println(r.Err)
			continue
		}
		fmt.Printf("%s: %s\n", r.Key, r.Payload)
	}
	if err := replies.Err(); err != nil {
		fmt.Println("cut short:", err)
	}
}

func ExampleSession_Queryable() {
	var s *zenoh.Session // from Open
	q, err := s.Queryable("robot/1/name", &zenoh.QueryableOptions{Handler: zenoh.Handler[*zenoh.Query]{
		Callback: func(q *zenoh.Query) {
			if err := q.Reply(context.Background(), "robot/1/name", []byte("rover"), nil); err != nil {
				fmt.Println(err)
			}
		},
	}})
	if err != nil {
		return
	}
	defer q.Close()
}

func ExampleSession_SubscribeLiveliness() {
	var s *zenoh.Session // from Open
	w, err := s.SubscribeLiveliness("robot/*", &zenoh.LivelinessOptions{History: true})
	if err != nil {
		return
	}
	defer w.Close()
	for v := range w.All(context.Background()) {
		if v.Kind == zenoh.Put {
			fmt.Println("joined:", v.Key)
		} else {
			fmt.Println("left:", v.Key)
		}
	}
}
